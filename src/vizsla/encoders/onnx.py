"""OnnxEncoder: a transformer served by ONNX Runtime, without torch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.checked import checked
from vizsla.encoder import check_texts
from vizsla.encoders.lengths import by_length
from vizsla.encoders.onnx_settings import OnnxSettings
from vizsla.encoders.token_encoder import TokenEncoder, TokenRows
from vizsla.errors import InputError, check_positive
from vizsla.extra import import_extra
from vizsla.linalg.unit import unit_rows
from vizsla.short_text import short_text

Floats = NDArray[np.float32]
MODEL, TOKENIZER, SETTINGS = "model.onnx", "tokenizer.json", "encoder.json"


class OnnxEncoder(TokenEncoder):
    """A folder with `model.onnx`, `tokenizer.json` and, from `export_onnx`, `encoder.json` (extra `onnx`).

    The model's first output must be one vector a token; they are pooled here.

    Parameters
    ----------
    path : path
        The folder.
    query_prompt, item_prompt : str, optional
        Put before every query or item text; what `encoder.json` says, or nothing, unless given.
    normalise : bool, optional
        Bring rows to length 1; what `encoder.json` says, or True, unless given.
    max_tokens : int, optional
        Cut texts after so many tokens; what `encoder.json` says, or 512, unless given.
    pooling : {"mean", "cls"}, optional
        What becomes of the tokens' vectors; what `encoder.json` says, or "mean", unless given.
    batch : int
        Texts that go through the model at once.
    threads : int
        What ONNX Runtime may use.
    """

    @checked
    def __init__(
        self,
        path: str | Path,
        *,
        query_prompt: str | None = None,
        item_prompt: str | None = None,
        normalise: bool | None = None,
        max_tokens: int | None = None,
        pooling: str | None = None,
        batch: int = 8,
        threads: int = 1,
    ):
        self.path, self._batch = Path(path), check_positive("batch", batch)
        self.threads = check_positive("threads", threads)
        given: dict[str, Any] = {"query_prompt": query_prompt, "item_prompt": item_prompt, "normalise": normalise}
        given |= {"max_tokens": max_tokens, "pooling": pooling}
        self.settings = OnnxSettings.read(self.path / SETTINGS, given)
        self._tokenizer = onnx_tokenizer(self.path / TOKENIZER, self.settings.max_tokens)
        self._session = onnx_session(self.path / MODEL, self.threads)
        self._inputs = [entry.name for entry in self._session.get_inputs()]

    def __repr__(self) -> str:
        return short_text(f"OnnxEncoder({self.path}", ")")

    @cached_property
    def dim(self) -> int:
        """The width of the model's vectors."""
        return int(self._run(["a"]).shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the model's file, the tokeniser, the limit of tokens, pooling, prompts and normalisation."""
        seen = 0
        for name in (MODEL, TOKENIZER):
            seen = _native.checksum(np.fromfile(self.path / name, np.uint8), seen)
        one = self.settings
        rules = repr((one.query_prompt, one.item_prompt, one.normalise, one.max_tokens, one.pooling)).encode()
        return f"onnx:{_native.checksum(np.frombuffer(rules, np.uint8), seen):016x}"

    @property
    def reference(self) -> dict[str, Any]:
        """What an artefact remembers, to load the model again."""
        return {"kind": "onnx", "name": str(self.path.absolute()), "options": self.options}

    @property
    def options(self) -> dict[str, Any]:
        """What else than the folder makes this encoder."""
        return self.settings.to_dict()

    def queries(self, texts: Sequence[str]) -> Floats:
        """Encode query texts, each after the query prompt."""
        return self._encode([self.settings.query_prompt + text for text in check_texts(texts)])

    def items(self, texts: Sequence[str]) -> Floats:
        """Encode item texts, each after the item prompt."""
        return self._encode([self.settings.item_prompt + text for text in check_texts(texts)])

    def query_tokens(self, texts: Sequence[str]) -> TokenRows:
        """Return the vectors of the queries' tokens."""
        return self._tokens([self.settings.query_prompt + text for text in check_texts(texts)])

    def item_tokens(self, texts: Sequence[str]) -> TokenRows:
        """Return the vectors of the items' tokens."""
        return self._tokens([self.settings.item_prompt + text for text in check_texts(texts)])

    def query_words(self, text: str) -> list[str]:
        """Return the pieces that a query is cut into."""
        tokens: list[str] = self._tokenizer.encode(self.settings.query_prompt + text).tokens
        return tokens

    def _encode(self, texts: list[str]) -> Floats:
        rows = np.zeros((len(texts), self.dim), np.float32)
        for chosen in by_length(texts, self._batch):
            rows[chosen] = self._run([texts[number] for number in chosen])
        return unit_rows(rows) if self.settings.normalise else rows

    def _tokens(self, texts: list[str]) -> TokenRows:
        parts: list[Floats] = [np.zeros((0, self.dim), np.float32)] * len(texts)
        for chosen in by_length(texts, self._batch):
            states, mask = self._states([texts[number] for number in chosen])
            for number, vectors, real in zip(chosen, states, mask.astype(np.bool_), strict=True):
                parts[number] = unit_rows(vectors[real]) if self.settings.normalise else vectors[real]
        return TokenRows.of(parts, dim=self.dim)

    def _run(self, texts: list[str]) -> Floats:
        states, mask = self._states(texts)
        if self.settings.pooling == "cls":
            return np.asarray(states[:, 0], np.float32)
        weights = mask[:, :, None].astype(np.float32)
        return np.asarray((states * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9), np.float32)

    def _states(self, texts: list[str]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the model's vectors of all tokens, texts × tokens × dimensions, and which of them are none."""
        known = onnx_inputs(self._tokenizer.encode_batch(texts))
        states = self._session.run(None, {name: known[name] for name in self._inputs})[0]
        return states, known["attention_mask"]


def onnx_inputs(encoded: list[Any]) -> dict[str, NDArray[np.int64]]:
    """Return what a model may ask of tokenised texts, by name."""
    parts = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
    return {name: np.array([getattr(text, part) for text in encoded], np.int64) for name, part in parts.items()}


def onnx_tokenizer(file: Path, max_tokens: int) -> Any:
    """Return a folder's tokeniser, which cuts and pads."""
    package = import_extra("tokenizers", f"Encoding with {file.parent}", "onnx")
    try:
        tokenizer = package.Tokenizer.from_file(str(file))
    except Exception as error:  # the package raises plain Exception
        raise InputError(f"`path` must hold a {TOKENIZER}. Got {file.parent}: {error}.") from error
    tokenizer.enable_truncation(max_tokens)
    padding = tokenizer.padding or {}
    given = {key: padding[key] for key in ("pad_id", "pad_token", "pad_type_id") if key in padding}
    tokenizer.enable_padding(**given)
    return tokenizer


def onnx_session(file: Path, threads: int) -> Any:
    """Return a folder's model, ready to run on so many threads."""
    onnxruntime = import_extra("onnxruntime", f"Encoding with {file.parent}", "onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    try:
        session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime raises types of its own for every cause
        raise InputError(f"`path` must hold a sound {MODEL}. Got {file.parent}: {error!s:.200}.") from error
    unknown = {entry.name for entry in session.get_inputs()} - {"input_ids", "attention_mask", "token_type_ids"}
    if unknown:
        raise InputError(f"{file} must take token ids, mask and types only. Got also {', '.join(sorted(unknown))}.")
    return session
