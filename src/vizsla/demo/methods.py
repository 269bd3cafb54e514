"""The rows of the demo's table: a method is added by one line in `METHODS`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from vizsla.retriever import Retriever

if TYPE_CHECKING:
    from vizsla.dataset import Dataset

Method = Callable[["Dataset"], Retriever]
"""Builds a retriever over a dataset's items; it may learn from the split "train", never from "test"."""


def _bm25(dataset: Dataset) -> Retriever:
    from vizsla.methods.bm25 import bm25
    from vizsla.text.analyser import Analyser

    # Without them "is" and "that" would fill the explanations; the quality is the same within chance.
    return bm25(dataset, analyser=Analyser(stop_words="english"))


def _lsa(dataset: Dataset) -> Retriever:
    from vizsla.encoders.lsa import LsaEncoder
    from vizsla.methods.dense import dense

    return dense(dataset, LsaEncoder.fit(item.default_text() for item in dataset.items))


METHODS: dict[str, Method] = {"bm25": _bm25, "lsa": _lsa}
