"""An artefact that holds an NgramTfidf and nothing else."""

from __future__ import annotations

from vizsla.artifact import Artifact
from vizsla.text.ngrams import NgramTfidf


class NgramHolder(Artifact):
    kind = "ngram-holder"

    def __init__(self, ngrams: NgramTfidf):
        self.ngrams = ngrams

    def _write(self, writer):
        self.ngrams.write(writer, "ngrams")

    @classmethod
    def _read(cls, reader):
        return cls(NgramTfidf.read(reader, "ngrams"))
