"""OnnxPairModel: a cross-encoder served by ONNX Runtime, without torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from vizsla.cached_property import cached_property
from vizsla.checked import checked
from vizsla.encoders.company import batch_for, of_one_length
from vizsla.encoders.onnx import MODEL, TOKENIZER, OnnxTokenizer, files_checksum, onnx_bytes, onnx_run, onnx_session
from vizsla.errors import InputError, check_positive
from vizsla.pairs.pair_model import Floats, PairModel, checksum_of
from vizsla.pairs.settings import SETTINGS, PairSettings
from vizsla.short_text import short_text


class OnnxPairModel(PairModel):
    """A folder with `model.onnx`, `tokenizer.json` and, from `export_pair_model`, `pairs.json` (extra `onnx`).

    The model's first output must be one number a pair.

    Parameters
    ----------
    path : path
        The folder.
    max_tokens : int, optional
        Cut pairs after so many tokens, the longer text first; what `pairs.json` says, or 512, unless given.
    batch : int
        Pairs of one length that go through the model at once; one by one where the model would round them by each
        other, as int8 models from elsewhere do.
    threads : int
        What ONNX Runtime may use.
    """

    @checked
    def __init__(self, path: str | Path, *, max_tokens: int | None = None, batch: int = 16, threads: int = 1):
        self.path, self.batch = Path(path), check_positive("batch", batch)
        self.threads = check_positive("threads", threads)
        self.settings = PairSettings.read(self.path / SETTINGS, max_tokens=max_tokens)
        self._tokenizer = OnnxTokenizer(self.path / TOKENIZER, self.settings.max_tokens)
        self._session = onnx_session(self.path / MODEL, self.threads)
        self._bytes = onnx_bytes(self.path)
        self._inputs = [entry.name for entry in self._session.get_inputs()]
        self._together = batch_for(np.fromfile(self.path / MODEL, np.uint8), self.batch)

    def __repr__(self) -> str:
        return short_text(f"OnnxPairModel({self.path}", ")")

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the model's files, the tokeniser and the limit of tokens."""
        return f"onnx-pairs:{checksum_of(self.settings.max_tokens, files_checksum(self.path)):016x}"

    @property
    def nbytes(self) -> int:
        """Bytes of the model's file."""
        return self._bytes

    @property
    def reference(self) -> dict[str, Any]:
        """What an artefact remembers, to load the model again."""
        options = {"max_tokens": self.settings.max_tokens}
        return {"kind": "onnx", "name": str(self.path.absolute()), "options": options, "bytes": self.nbytes}

    def score_batch(self, queries: list[str], texts: list[str]) -> Floats:
        """Score a few pairs, those of one length together."""
        cut = self._tokenizer.encode_batch(list(zip(queries, texts, strict=True)))
        found = np.zeros(len(texts), np.float32)
        for chosen in of_one_length([len(pair.ids) for pair in cut], self._together):
            found[chosen] = self._run([cut[place] for place in chosen])
        return found

    def _run(self, cut: list[Any]) -> Floats:
        scores = onnx_run(self._session, self._inputs, cut, self.path / MODEL)
        if scores.shape not in ((len(cut),), (len(cut), 1)):
            raise InputError(f"{self.path / MODEL} must give one number a pair. Got shape {scores.shape}.")
        return scores.reshape(-1)
