"""Encode many texts into a file in steps, so that an interrupted run continues."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sized
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.terminal import progress
from vizsla.base.encoder import Encoder, checked_rows
from vizsla.base.placement import Placement
from vizsla.core.validation import as_path
from vizsla.encoders.token_encoder import checked_tokens
from vizsla.errors import InputError, check_choice
from vizsla.io.atomic import writing
from vizsla.text.streams import TEXTS_PER_BATCH, batches

ROWS_FILE, RECORD, LOCK = "rows.partial", "progress.json", "lock"


def resumable_encode(
    encoder: Encoder,
    texts: Iterable[str],
    folder: str | Path,
    *,
    storage: str = "float16",
    count: int | None = None,
    on: Placement | None = None,
) -> NDArray[Any]:
    """Encode item texts into a file of `folder` and return them memory-mapped; call again to continue.

    After every batch the rows are on the disk before the record counts them. A second call with the same texts, encoder
    and storage skips what the record counts; with others it raises, since the rows would not belong together.

    Parameters
    ----------
    encoder : Encoder
        A dense encoder.
    texts : iterable of str
        The items' texts, in the same order each time. They are read from the start, also to continue.
    folder : path
        Made unless it is there. The caller removes it when the rows are stored elsewhere.
    storage : {"float16", "float32"}
        How rows are kept.
    count : int, optional
        How many texts there are, for the progress bar; their length, where they have one, unless given.
    on : Placement, optional
        Where batches are encoded; the file is the same, byte for byte, as far as the encoder computes alike there.
    """
    check_choice("storage", storage, ["float16", "float32"])
    folder = as_path(folder, "folder")
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder), (folder / ROWS_FILE).open("ab") as rows:
        EncodingFile(encoder, folder, storage, rows).run(texts, len(texts) if isinstance(texts, Sized) else count, on)
    size = (folder / ROWS_FILE).stat().st_size
    if not size:
        return np.zeros((0, encoder.dim), storage)
    return np.memmap(folder / ROWS_FILE, storage, mode="r").reshape(-1, encoder.dim)


def remove_encoding(folder: str | Path) -> None:
    """Remove what `resumable_encode` left, once it is no longer wanted."""
    shutil.rmtree(folder, ignore_errors=True)


class EncodingFile:
    """Writes rows into a file, resumably.

    Parameters
    ----------
    encoder : Encoder
        Makes them.
    folder : Path
        Where file and record lie.
    storage : str
        How numbers are kept.
    rows : file
        Open for appending.
    **rules
        Further values that a record must agree with.
    """

    def __init__(self, encoder: Encoder, folder: Path, storage: str, rows: Any, **rules: Any):
        self._encoder, self._storage, self._rows = encoder, storage, rows
        self._record, self._row_bytes = folder / RECORD, encoder.dim * np.dtype(storage).itemsize
        self._rules = {"encoder": encoder.fingerprint, "dim": encoder.dim, "storage": storage, **rules}
        self._done, self._seen = self._recorded(folder)

    def run(self, texts: Iterable[str], count: int | None, on: Placement | None = None) -> None:
        """Skip what is done, encode the rest."""
        self._forget_unsure()
        total = None if count is None else -(-count // TEXTS_PER_BATCH) - self._done // TEXTS_PER_BATCH
        what, common = f"encoding, {TEXTS_PER_BATCH} texts a step", (self._encoder, self._storage)
        if on is not None:
            encoded = on.map(self.encode, self._left(texts), common=common, total=total, what=what, small=True)
        else:
            encoded = progress((self.encode(each, common) for each in self._left(texts)), total=total, what=what)
        for arrays, number, seen in encoded:
            self._append(arrays, number, seen)

    def _left(self, texts: Iterable[str]) -> Iterator[tuple[list[str], int, int]]:
        """Yield the batches that are not done, with the number of texts up to their ends, and the checksum of these."""
        number, seen = 0, 0
        for batch in batches(texts):
            number, seen = number + len(batch), chained(batch, seen)
            if number < self._done:
                continue
            if number - len(batch) < self._done:
                self._check_same(number, seen)
                continue
            yield batch, number, seen
        if number < self._done:
            raise InputError(f"`texts` must be those of the first call. Got {number}, of {self._done} encoded ones.")

    @staticmethod
    def encode(left: tuple[list[str], int, int], common: tuple[Any, str]) -> tuple[list[NDArray[Any]], int, int]:
        """Encode a batch; its arrays are appended to the files."""
        (batch, number, seen), (encoder, storage) = left, common
        rows = checked_rows(encoder, encoder.items(batch), len(batch))
        return [np.ascontiguousarray(rows, storage)], number, seen

    def _forget_unsure(self) -> None:
        """Cut off what was written after the record was."""
        self._rows.truncate(self._done * self._row_bytes)

    def _files(self) -> list[Any]:
        """Return the files that the arrays of a batch are appended to."""
        return [self._rows]

    def _append(self, arrays: list[NDArray[Any]], number: int, seen: int) -> None:
        for file, values in zip(self._files(), arrays, strict=True):
            write_through(file, values)
        with writing(self._record, overwrite=True) as out:
            out.write(json.dumps({**self._rules, "rows": number, "texts": seen}).encode())

    def _check_same(self, number: int, seen: int) -> None:
        if (number, seen) != (self._done, self._seen):
            raise InputError(
                f"`texts` must be those of the first call. Got others: remove {self._record.parent} to start anew."
            )

    def _recorded(self, folder: Path) -> tuple[int, int]:
        if not self._record.exists():
            return 0, 0
        try:
            record = json.loads(self._record.read_bytes())
            done, seen = int(record.pop("rows")), int(record.pop("texts"))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InputError(f"{self._record} must be a record of encoding. Got another: remove {folder}.") from None
        if record != self._rules:
            raise InputError(
                f"{folder} must hold rows of this encoder and storage. Got {record!r:.300}: remove it to start anew."
            )
        if (folder / ROWS_FILE).stat().st_size < self._sure_bytes(done):
            raise InputError(f"{folder / ROWS_FILE} must hold {done} rows. Got fewer: remove {folder} to start anew.")
        return done, seen

    def _sure_bytes(self, done: int) -> int:
        """Return the length of the file after a number of texts."""
        return done * self._row_bytes


def write_through(file: Any, values: NDArray[Any]) -> None:
    """Append an array to a file; it is on the disk when this returns."""
    file.write(values.data)
    file.flush()
    os.fsync(file.fileno())


def chained(texts: Iterable[str], seen: int) -> int:
    """Return a checksum of texts that goes on from the one of those before."""
    for text in texts:
        seen = _native.checksum(np.frombuffer(text.encode("utf-8", "surrogatepass") + b"\0", np.uint8), seen)
    return seen


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep others from encoding into the same folder."""
    with (folder / LOCK).open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{folder} must be used by one process. Got another that is writing to it.") from None
        yield


COUNTS_FILE = "counts.partial"


def resumable_tokens(
    encoder: Encoder, texts: Iterable[str], folder: str | Path, *, storage: str = "float16"
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Encode item texts, token by token, into files of `folder`; call again to continue, as with `resumable_encode`.

    Returns offsets, which say where each text's tokens begin, and the rows, memory-mapped.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder), (folder / COUNTS_FILE).open("ab") as counts, (folder / ROWS_FILE).open("ab") as rows:
        encoding = TokenEncoding(encoder, folder, storage, rows, counts)
        encoding.run(texts, len(texts) if isinstance(texts, Sized) else None)
    lengths = np.fromfile(folder / COUNTS_FILE, np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    if not offsets[-1]:
        return offsets, np.zeros((0, encoder.dim), storage)
    return offsets, np.memmap(folder / ROWS_FILE, storage, mode="r").reshape(-1, encoder.dim)


class TokenEncoding(EncodingFile):
    """Writes token vectors into a file, resumably.

    Parameters
    ----------
    counts : file
        Open for appending, as `rows`.
    """

    def __init__(self, encoder: Encoder, folder: Path, storage: str, rows: Any, counts: Any):
        self._counts, self._counts_file = counts, folder / COUNTS_FILE
        super().__init__(encoder, folder, storage, rows, tokens=True)

    def _forget_unsure(self) -> None:
        self._rows.truncate(self._sure_bytes(self._done))
        self._counts.truncate(self._done * 8)

    def _files(self) -> list[Any]:
        return [self._rows, self._counts]

    @staticmethod
    def encode(left: tuple[list[str], int, int], common: tuple[Any, str]) -> tuple[list[NDArray[Any]], int, int]:
        """Encode a batch: the vectors of its tokens, and how many each text has."""
        (batch, number, seen), (encoder, storage) = left, common
        tokens = checked_tokens(encoder, encoder.item_tokens(batch), len(batch))
        return [np.ascontiguousarray(tokens.rows, storage), np.diff(tokens.offsets)], number, seen

    def _sure_bytes(self, done: int) -> int:
        counts = np.fromfile(self._counts_file, np.int64, count=done)
        if len(counts) < done or (counts < 0).any():
            raise InputError(f"{self._counts_file} must hold {done} counts. Got fewer: remove its folder.")
        return int(counts.sum()) * self._row_bytes
