"""SentenceEncoder: a sentence-transformers model, from the hub or a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vizsla import _native
from vizsla._internal.lazy import cached_property, import_extra, typed_errors
from vizsla._internal.terminal import abbreviate
from vizsla.base.encoder import check_texts
from vizsla.core.linalg import unit_rows
from vizsla.core.validation import validate_args
from vizsla.encoders.persistence import (
    modules_checksum,
    refuse_own_code,
    tokenizer_checksum,
    weights_bytes,
    weights_checksum,
)
from vizsla.encoders.token_encoder import TokenEncoder, TokenRows
from vizsla.errors import InputError, check_positive
from vizsla.typing import Float32Array


class SentenceEncoder(TokenEncoder):
    """A model of sentence-transformers (extra `neural`). Code from the hub is never run.

    Parameters
    ----------
    name : str
        A hub id, or the folder of a model.
    query_prompt : str
        Put before every query, as some models want: "query: ".
    item_prompt : str
        Put before every item text, as some models want: "passage: ".
    normalize : bool
        Bring rows to length 1, so that an inner product is a cosine.
    max_tokens : int, optional
        Maximum number of tokens per text; the model's own limit unless given.
    batch : int
        Texts that go through the model at once.
    device : str, optional
        Where to compute; sentence-transformers chooses unless given.
    download : bool
        Fetch a model from the hub that is not on this machine yet. False looks at folders and the local cache only.
    """

    @validate_args
    def __init__(
        self,
        name: str,
        *,
        query_prompt: str = "",
        item_prompt: str = "",
        normalize: bool = True,
        max_tokens: int | None = None,
        batch: int = 32,
        device: str | None = None,
        download: bool = True,
    ):
        self.name, self.query_prompt, self.item_prompt = str(name), query_prompt, item_prompt
        self.normalize, self.max_tokens, self._batch = normalize, max_tokens, check_positive("batch", batch)
        self.model = _load(self.name, device, download=download)
        if max_tokens is not None:
            self.model.max_seq_length = check_positive("max_tokens", max_tokens)

    def __repr__(self) -> str:
        return abbreviate(f"SentenceEncoder({self.name}", ")")

    @cached_property
    def dim(self) -> int:
        """The width of the model's vectors."""
        ask = getattr(self.model, "get_embedding_dimension", None) or self.model.get_sentence_embedding_dimension
        return int(ask())

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the model's weights, tokenizer and modules, the limit of tokens, prompts and normalization."""
        seen = modules_checksum(self.model, tokenizer_checksum(self.model.tokenizer, weights_checksum(self.model)))
        rules = repr((self.query_prompt, self.item_prompt, self.normalize, self.model.max_seq_length)).encode()
        return f"sentence:{_native.checksum(np.frombuffer(rules, np.uint8), seen):016x}"

    @cached_property
    def nbytes(self) -> int:
        """Bytes of the model's weights."""
        return weights_bytes(self.model)

    @property
    def reference(self) -> dict[str, Any]:
        """What an artifact remembers, to load the model again."""
        name = str(Path(self.name).absolute()) if Path(self.name).is_dir() else self.name
        return {"kind": "sentence", "name": name, "options": self.options, "bytes": self.nbytes}

    @property
    def options(self) -> dict[str, Any]:
        """What else than the name makes this encoder."""
        return {
            "query_prompt": self.query_prompt,
            "item_prompt": self.item_prompt,
            "normalize": self.normalize,
            "max_tokens": self.max_tokens,
        }

    def queries(self, texts: Sequence[str]) -> Float32Array:
        """Encode query texts, each after the query prompt."""
        return self._encode([self.query_prompt + text for text in check_texts(texts)])

    def items(self, texts: Sequence[str]) -> Float32Array:
        """Encode item texts, each after the item prompt."""
        return self._encode([self.item_prompt + text for text in check_texts(texts)])

    def query_tokens(self, texts: Sequence[str]) -> TokenRows:
        """Return the vectors of the queries' tokens."""
        return self._tokens([self.query_prompt + text for text in check_texts(texts)])

    def item_tokens(self, texts: Sequence[str]) -> TokenRows:
        """Return the vectors of the items' tokens."""
        return self._tokens([self.item_prompt + text for text in check_texts(texts)])

    def query_words(self, text: str) -> list[str]:
        """Return the pieces that a query is cut into."""
        limit = {"truncation": True, "max_length": self.model.max_seq_length}
        numbers = self.model.tokenizer(self.query_prompt + text, **limit)["input_ids"]
        words: list[str] = self.model.tokenizer.convert_ids_to_tokens(numbers)
        return words

    def count_tokens(self, text: str) -> int:
        """Return how many tokens a text has, without those that begin and end every text."""
        return len(self.model.tokenizer(text, add_special_tokens=False, truncation=False)["input_ids"])

    def _tokens(self, texts: list[str]) -> TokenRows:
        if not texts:
            return TokenRows.of([], dim=self.dim)
        options = {"batch_size": self._batch, "show_progress_bar": False, "output_value": "token_embeddings"}
        parts = [rows.float().cpu().numpy() for rows in self.model.encode(texts, **options)]
        return TokenRows.of([unit_rows(rows) for rows in parts] if self.normalize else parts, dim=self.dim)

    def _encode(self, texts: list[str]) -> Float32Array:
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        rows = self.model.encode(texts, batch_size=self._batch, show_progress_bar=False, convert_to_numpy=True)
        return unit_rows(rows) if self.normalize else np.ascontiguousarray(rows, np.float32)


def _load(name: str, device: str | None, *, download: bool) -> Any:
    if not name:
        raise InputError("`name` must be a model's hub id or folder. Got an empty text.")
    package = import_extra("sentence_transformers", f"Encoding with {name!r}", "neural")
    # It shows a bar while it reads weights, terminal or not.
    import_extra("transformers", f"Encoding with {name!r}", "neural").utils.logging.disable_progress_bar()
    refuse_own_code(Path(name))
    options = {"device": device, "trust_remote_code": False, "local_files_only": not download}
    where = "hub id or folder" if download else "folder, or hub id in the local cache"
    with typed_errors(f"`name` must be a model's {where}; {name!r} is not"):
        # Prompts are ours to add, or they would come twice.
        return package.SentenceTransformer(name, prompts={}, **options)
