"""Item vectors in rows, and exact dot products of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.lazy import cached_property
from vizsla.core.validation import as_array
from vizsla.errors import FormatError, InputError, check_choice
from vizsla.typing import Float32Array, Int32Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

STORAGES = ("float32", "float16", "int8")
MAX_ITEMS = 2**31 - 1
NUMBERS_PER_BLOCK = 1 << 22
"""Numbers decoded at once while building: what bounds the memory, never the result."""


class ItemVectors:
    """Item vectors in float32, float16 or int8; an index scores the decoded values.

    A byte c of dimension j stands for ``low[j] + (c + 0.5) / 255 · span[j]``, Faiss's 8-bit scalar quantizer.

    Parameters
    ----------
    rows : float32, float16 or uint8 array
        One row an item, kept as it is: it may be a memory-mapped file.
    low, span : float32 arrays, optional
        The smallest value and the width of each dimension, for bytes.
    longest : float, optional
        The largest Euclidean length of a decoded row; counted unless given.

    Examples
    --------
    >>> stored = ItemVectors.of(np.eye(3), storage="float16")
    >>> stored.take(np.array([2])).tolist(), stored.nbytes
    ([[0.0, 0.0, 1.0]], 18)
    """

    def __init__(
        self,
        rows: NDArray[Any],
        *,
        low: Float32Array | None = None,
        span: Float32Array | None = None,
        longest: float | None = None,
    ):
        self.rows, self.low, self.span = rows, low, span
        self._check()
        if not rows.flags.c_contiguous:
            self.rows = np.ascontiguousarray(rows)
        self.longest = self._longest() if longest is None else float(longest)
        if not (np.isfinite(self.longest) and self.longest >= 0):
            raise InputError("The vectors must hold finite numbers. Got NaN or infinity.")

    @classmethod
    def of(cls, vectors: Any, *, storage: str | None = None) -> Self:
        """Store vectors; float16 stays float16 unless told otherwise, everything else becomes float32."""
        arrays = hasattr(vectors, "__array__")
        rows = np.asarray(vectors) if arrays else as_array("vectors", vectors, np.float32)
        if rows.dtype.kind not in "fiub":
            raise InputError(f"`vectors` must be numbers. Got {rows.dtype}.")
        if rows.ndim != 2:
            raise InputError(f"`vectors` must have one row an item. Got {rows.ndim} dimensions.")
        if storage is None:
            storage = "float16" if rows.dtype == np.float16 else "float32"
        check_choice("storage", storage, STORAGES)
        if storage == "int8":
            codes, low, span = _quantized(rows)
            return cls(codes, low=low, span=span)
        if rows.dtype == np.dtype(storage) and rows.flags.c_contiguous:
            return cls(rows)
        stored = np.empty(rows.shape, storage)
        with np.errstate(over="ignore"):  # `_longest` finds what became infinite
            for start, end in blocks(*rows.shape):
                stored[start:end] = rows[start:end]
        return cls(stored)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def dim(self) -> int:
        """The length of a row."""
        return int(self.rows.shape[1])

    @property
    def storage(self) -> str:
        """Return "float32", "float16" or "int8"."""
        return "int8" if self.rows.dtype == np.uint8 else self.rows.dtype.name

    @cached_property
    def step(self) -> Float32Array | None:
        """What one step of a byte is worth in each dimension; None unless the rows are bytes."""
        return None if self.span is None else self.span / np.float32(255)

    @property
    def nbytes(self) -> int:
        """Bytes of the stored rows."""
        return int(self.rows.nbytes + sum(part.nbytes for part in (self.low, self.span) if part is not None))

    def take(self, numbers: NDArray[Any] | slice) -> Float32Array:
        """Return the rows with these numbers as float32; a slice of float32 rows is not copied."""
        picked = self.rows[numbers]
        if self.low is None or self.step is None:
            return np.asarray(picked, np.float32)
        return decoded(picked, self.low, self.step)

    def joined(self, vectors: Any) -> Self:
        """Return these rows and more after them, stored alike; bytes keep their ranges, at whose ends others are cut.

        Examples
        --------
        >>> stored = ItemVectors.of([[0.0], [255.0]], storage="int8").joined([[100.2], [900.0]])
        >>> stored.rows.ravel().tolist()
        [0, 255, 100, 255]
        """
        more = as_array("vectors", vectors, np.float32)
        if more.ndim != 2 or more.shape[1] != self.dim:
            raise InputError(f"`vectors` must have {self.dim} columns. Got shape {more.shape}.")
        if self.low is not None and self.span is not None:
            if not np.isfinite(more).all():
                raise InputError("The vectors must hold finite numbers. Got NaN or infinity.")
            return type(self)(
                np.concatenate([self.rows, _codes(more, self.low, self.span)]), low=self.low, span=self.span
            )
        new = type(self).of(more, storage=self.storage)
        return type(self)(np.concatenate([self.rows, new.rows]), longest=max(self.longest, new.longest))

    def kept(self, numbers: NDArray[Any]) -> Self:
        """Return the rows with these numbers, stored alike."""
        return type(self)(self.rows[numbers], low=self.low, span=self.span)

    def write(self, writer: ArtifactWriter) -> None:
        """Store the rows among an artifact's files."""
        writer.parameters(storage=self.storage, longest=self.longest)
        writer.array("vectors", self.rows)
        if self.low is not None and self.span is not None:
            writer.array("low", self.low)
            writer.array("span", self.span)

    @classmethod
    def read(cls, reader: ArtifactReader) -> Self:
        """Read what `write` stored."""
        storage = reader.parameter("storage", str)
        if storage not in STORAGES:
            raise FormatError(f"{reader.path}: unknown storage {storage!r:.50}.")
        rows = reader.array("vectors", np.uint8 if storage == "int8" else storage, ndim=2)
        parts = {name: reader.array(name, np.float32) for name in ("low", "span")} if storage == "int8" else {}
        try:
            return cls(rows, longest=reader.parameter("longest", float), **parts)
        except InputError as error:
            raise FormatError(f"{reader.path / 'vectors.npy'}: {error}") from error

    def _check(self) -> None:
        if self.rows.ndim != 2 or self.rows.dtype not in (np.float32, np.float16, np.uint8):
            raise InputError(f"`rows` must be a matrix of float32, float16 or uint8. Got {self.rows.dtype}.")
        if not self.dim or len(self) > MAX_ITEMS:
            wanted = f"at least 1 column and at most {MAX_ITEMS} rows"
            raise InputError(f"`vectors` must have {wanted}. Got shape {self.rows.shape}.")
        codec = (self.low, self.span)
        if self.rows.dtype == np.uint8:
            if any(part is None or part.shape != (self.dim,) or not np.isfinite(part).all() for part in codec):
                raise InputError(f"`low` and `span` must be {self.dim} finite numbers each, for bytes.")
        elif codec != (None, None):
            raise InputError("`low` and `span` must be None unless the rows are bytes.")

    def _longest(self) -> float:
        longest = 0.0
        for start, end in blocks(len(self), self.dim):
            rows = self.take(slice(start, end)).astype(np.float64)
            longest = max(longest, float(np.einsum("ij,ij->i", rows, rows).max(initial=0.0)))
            if not np.isfinite(rows).all():
                return float("nan")
        return float(np.sqrt(longest))


def blocks(count: int, width: int, *, size: int = NUMBERS_PER_BLOCK) -> list[tuple[int, int]]:
    """Return where each block of rows begins and ends, so that a block holds about `size` numbers.

    Examples
    --------
    >>> blocks(5, 10, size=20)
    [(0, 2), (2, 4), (4, 5)]
    """
    step = max(1, size // max(1, width))
    return [(start, min(start + step, count)) for start in range(0, count, step)]


def decoded(codes: NDArray[np.uint8], low: Float32Array, step: Float32Array) -> Float32Array:
    """Return what the bytes stand for."""
    rows = codes.astype(np.float32)
    rows += np.float32(0.5)
    rows *= step
    rows += low
    return rows


def _quantized(rows: NDArray[Any]) -> tuple[NDArray[np.uint8], Float32Array, Float32Array]:
    """Return bytes for every number, and what they stand for: low and span of each dimension."""
    low, high = np.full(rows.shape[1], np.inf, np.float32), np.full(rows.shape[1], -np.inf, np.float32)
    for start, end in blocks(*rows.shape):
        block = np.asarray(rows[start:end], np.float32)
        low, high = np.minimum(low, block.min(axis=0)), np.maximum(high, block.max(axis=0))
    if not len(rows):
        low, high = np.zeros_like(low), np.zeros_like(high)
    span = high - low
    return _codes(rows, low, span), low, span


def _codes(rows: NDArray[Any], low: Float32Array, span: Float32Array) -> NDArray[np.uint8]:
    """Return the byte of every number; one outside of the range of its dimension gets that of the nearer end."""
    step = np.where(span > 0, span / np.float32(255), np.float32(1))
    codes = np.empty(rows.shape, np.uint8)
    for start, end in blocks(*rows.shape):
        places = (np.asarray(rows[start:end], np.float32) - low) / step
        codes[start:end] = np.clip(np.floor(places), 0, 255)
    return codes


def pair_dots(queries: Float32Array, rows: NDArray[np.int64], vectors: ItemVectors, items: Int32Array) -> Float32Array:
    """Return ``queries[rows[i]] · vectors[items[i]]`` for every i.

    A matrix product adds in an order that depends on its shape, so a score would change with the batch. Here products
    are made and added in float64, row by row in one fixed order, and rounded once.

    Examples
    --------
    >>> pair_dots(np.eye(2, dtype="f"), np.array([0, 1, 1]), ItemVectors.of([[1, 2], [3, 4]]), np.array([1, 1, 0], "i"))
    array([3., 4., 2.], dtype=float32)
    """
    queries, rows = np.ascontiguousarray(queries, np.float32), np.ascontiguousarray(rows, np.int64)
    items = np.ascontiguousarray(items, np.int32)
    scores: Any = _native.pair_dots(queries, rows, vectors.rows, vectors.low, vectors.step, items)
    return np.frombuffer(scores, np.float32)
