"""Resumable encoding of token vectors: beside the rows a second file says how many tokens each text has."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.encoder import Encoder
from vizsla.encoders.resume import ROWS, Encoding, locked, write_through
from vizsla.encoders.token_encoder import checked_tokens
from vizsla.errors import InputError

COUNTS = "counts.partial"


def resumable_tokens(
    encoder: Encoder, texts: Iterable[str], folder: str | Path, *, storage: str = "float16"
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Encode item texts, token by token, into files of `folder`; call again to continue, as with `resumable_encode`.

    Returns offsets, which say where each text's tokens begin, and the rows, memory-mapped.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder), (folder / COUNTS).open("ab") as counts, (folder / ROWS).open("ab") as rows:
        encoding = TokenEncoding(encoder, folder, storage, rows, counts)
        encoding.run(texts, len(texts) if isinstance(texts, Sized) else None)
    lengths = np.fromfile(folder / COUNTS, np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    if not offsets[-1]:
        return offsets, np.zeros((0, encoder.dim), storage)
    return offsets, np.memmap(folder / ROWS, storage, mode="r").reshape(-1, encoder.dim)


class TokenEncoding(Encoding):
    """Token vectors on their way into a file.

    Parameters
    ----------
    counts : file
        Open for appending, as `rows`.
    """

    def __init__(self, encoder: Encoder, folder: Path, storage: str, rows: Any, counts: Any):
        self._counts, self._counts_file = counts, folder / COUNTS
        super().__init__(encoder, folder, storage, rows, tokens=True)

    def _forget_unsure(self) -> None:
        self._rows.truncate(self._sure_bytes(self._done))
        self._counts.truncate(self._done * 8)

    def _write(self, batch: list[str]) -> None:
        encoder: Any = self._encoder
        tokens = checked_tokens(encoder, encoder.item_tokens(batch), len(batch))
        write_through(self._rows, np.ascontiguousarray(tokens.rows, self._storage))
        write_through(self._counts, np.diff(tokens.offsets))

    def _sure_bytes(self, done: int) -> int:
        counts = np.fromfile(self._counts_file, np.int64, count=done)
        if len(counts) < done or (counts < 0).any():
            raise InputError(f"{self._counts_file} must hold {done} counts. Got fewer: remove its folder.")
        return int(counts.sum()) * self._row_bytes
