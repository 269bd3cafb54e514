"""FlatIndex: exact search over all vectors, with an int8 prefilter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.core.candidates import Candidates, Stats
from vizsla.core.validation import as_array
from vizsla.data.filter import Filter
from vizsla.errors import FormatError, InputError
from vizsla.indexes._memory import aligned, zeros_in_lines
from vizsla.indexes.dense_index import StoredIndex
from vizsla.indexes.vectors import ItemVectors, blocks
from vizsla.typing import BoolArray, Float32Array, Int32Array, Int64Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


class Found(NamedTuple):
    """The best items of every query, and how often the vectors were read to find them."""

    offsets: Int64Array
    items: Int32Array
    scores: Float32Array
    reads: int


def flat_search(
    queries: Float32Array,
    vectors: ItemVectors,
    k: int,
    numbers: Int32Array | None = None,
    *,
    flags: BoolArray | None = None,
    threads: int = 1,
) -> Found:
    """Return the best `k` of every query among all items, among `numbers`, which ascend, or among those with a flag.

    By number only these vectors are read; by flag all are, in a row: the same answer either way.

    The pass adds in float32. However it adds, its sums differ from the exact ones by at most γ·|q|·|v| (Higham,
    Accuracy and Stability, 3.1). Items within twice that of the k-th best are scored by `pair_dots`, so none is
    missed, ties included.

    Examples
    --------
    >>> found = flat_search(np.ones((1, 2), np.float32), ItemVectors.of([[1, 2], [3, 4], [2, 1]]), 2)
    >>> found.items.tolist(), found.scores.tolist()
    ([1, 0], [7.0, 3.0])
    """
    offsets, items, scores, reads = _native.search_rows(
        queries, vectors.rows, vectors.low, vectors.step, vectors.longest, k, numbers, flags, threads
    )
    return Found(
        np.frombuffer(offsets, np.int64), np.frombuffer(items, np.int32), np.frombuffer(scores, np.float32), reads
    )


ROW_LANES = 16
"""A row is filled up with zeros to a multiple of this."""
PREFILTER_ARRAYS = ("guard_codes", "guard_scales", "guard_errors")


class Int8Prefilter:
    """An int8 copy with error bounds, which excludes most items before vectors are read in full.

    A vector is its scale times its bytes, plus a rest. By Cauchy and Schwarz the rest moves a score by no more than the
    query's length times its own, which is stored: `errors`.

    Parameters
    ----------
    codes : int8 array, items × dimensions, filled up to a multiple of 16
        Whole numbers from -127 to 127.
    scales : float32 array
        Step size of each row.
    errors : float32 array
        The length of what the bytes leave out of each row, rounded up.

    Examples
    --------
    >>> guard = Int8Prefilter.of(ItemVectors.of([[3.0, 4.0], [1.0, 0.5]]))
    >>> guard.codes[:, :2].tolist()
    [[95, 127], [127, 64]]
    """

    def __init__(self, codes: NDArray[np.int8], scales: Float32Array, errors: Float32Array):
        self.codes, self.scales, self.errors = codes, scales, errors
        if codes.ndim != 2 or codes.dtype != np.int8 or codes.shape[1] % ROW_LANES or not codes.flags.c_contiguous:
            wanted = f"int8, items × a multiple of {ROW_LANES}"
            raise InputError(f"The guard's codes must be {wanted}. Got {codes.dtype} of shape {codes.shape}.")
        for name, part in (("scales", scales), ("errors", errors)):
            if part.shape != (len(codes),) or not (np.isfinite(part).all() and (part >= 0).all()):
                raise InputError(f"The guard's {name} must be {len(codes)} finite numbers of at least 0. Got others.")

    @classmethod
    def of(cls, vectors: ItemVectors) -> Self:
        """Make bytes of stored vectors."""
        if vectors.storage == "int8":
            raise InputError("`guarded` must be False for storage 'int8'. Got True: its rows are bytes already.")
        count, width = len(vectors), -(-vectors.dim // ROW_LANES) * ROW_LANES
        codes = zeros_in_lines((count, width), np.int8)
        scales, errors = np.zeros(count, np.float32), np.zeros(count, np.float32)
        for start, end in blocks(count, vectors.dim, size=1 << 20):
            rows = vectors.take(slice(start, end)).astype(np.float64)
            scale = (np.abs(rows).max(axis=1) / 127).astype(np.float32)
            steps = np.where(scale > 0, scale, 1).astype(np.float64)[:, None]
            whole = np.clip(np.rint(rows / steps), -127, 127)
            rest = np.linalg.norm(rows - whole * scale[:, None].astype(np.float64), axis=1)
            codes[start:end, : vectors.dim] = whole
            scales[start:end] = scale
            errors[start:end] = np.nextafter((rest * (1 + 1e-9)).astype(np.float32), np.float32(np.inf))
        return cls(codes, scales, errors)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return int(self.codes.nbytes + self.scales.nbytes + self.errors.nbytes)

    def joined(self, other: Int8Prefilter) -> Self:
        """Return the rows of both, one's after the other's."""
        codes = aligned(np.concatenate([self.codes, other.codes]))
        scales, errors = np.append(self.scales, other.scales), np.append(self.errors, other.errors)
        return type(self)(codes, scales, errors)

    def kept(self, numbers: NDArray[Any]) -> Self:
        """Return the rows with these numbers."""
        return type(self)(aligned(self.codes[numbers]), self.scales[numbers], self.errors[numbers])

    def search(
        self, queries: Float32Array, vectors: ItemVectors, k: int, numbers: Int32Array | None, threads: int
    ) -> Found:
        """Return what `flat_search` returns, to the last bit; `reads` counts the vectors that were scored in full."""
        offsets, items, scores, scored = _native.search_int8_bounded(
            queries, vectors.rows, self.codes, self.scales, self.errors, vectors.longest, k, numbers, threads
        )
        return Found(
            np.frombuffer(offsets, np.int64), np.frombuffer(items, np.int32), np.frombuffer(scores, np.float32), scored
        )

    def write(self, writer: ArtifactWriter) -> None:
        """Store the arrays among an artifact's files."""
        writer.array(PREFILTER_ARRAYS[0], self.codes)
        writer.array(PREFILTER_ARRAYS[1], self.scales)
        writer.array(PREFILTER_ARRAYS[2], self.errors)

    @classmethod
    def read(cls, reader: ArtifactReader) -> Self | None:
        """Read what `write` stored; None where nothing is."""
        if f"{PREFILTER_ARRAYS[0]}.npy" not in reader.manifest.files:
            return None
        codes = reader.array(PREFILTER_ARRAYS[0], np.int8, ndim=2)
        try:
            return cls(codes, *(reader.array(name, np.float32) for name in PREFILTER_ARRAYS[1:]))
        except InputError as error:
            raise FormatError(f"{reader.path / PREFILTER_ARRAYS[0]}.npy: {error}") from error


MAX_PREFILTERED_QUERIES = 2
"""Queries that a guard answers, one after the other; more share a pass over the vectors, which is then as fast."""

MIN_STREAMED_SHARE = 0.3
"""Where a filter allows more of the items, one query reads all vectors: in a row they come faster than every third."""


class FlatIndex(StoredIndex):
    """Exact search by inner product; the answer does not depend on the batch, on `k` or on threads.

    Examples
    --------
    >>> import numpy as np
    >>> index = FlatIndex.build([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> found = index.search(np.array([[0.0, 2.0]], np.float32), k=2)
    >>> found.items.tolist(), found.scores.tolist()
    ([2, 1], [2.0, 1.600000023841858])
    """

    kind = "flat"
    takes_items = True

    def __init__(self, vectors: ItemVectors, guard: Int8Prefilter | None = None):
        super().__init__(vectors)
        self.guard = guard
        wanted = len(vectors), -(-vectors.dim // ROW_LANES) * ROW_LANES
        if guard is not None and guard.codes.shape != wanted:
            raise InputError(f"`guard` must be over {len(vectors)} × {vectors.dim} numbers. Got {guard.codes.shape}.")

    @classmethod
    def build(cls, vectors: Any, *, storage: str | None = None, guarded: bool = False) -> Self:
        """Index vectors, a row an item.

        Parameters
        ----------
        vectors : array, items × dimensions
            float32 and float16 arrays are kept, not copied: do not change them later. A memory-mapped array stays on
            the disk.
        storage : {"float32", "float16", "int8"}, optional
            How to keep the vectors. Unless given, float16 vectors stay so and all others become float32.
        guarded : bool
            Keep a byte a number beside them, with a bound on its error. A search for one query, or for a few, reads the
            bytes, and in full only vectors that the bound cannot rule out: the same answer, several times faster, for a
            quarter more memory.
        """
        stored = ItemVectors.of(vectors, storage=storage)
        return cls(stored, Int8Prefilter.of(stored) if guarded else None)

    def with_items(self, vectors: Any, *, threads: int = 1) -> Self:
        """Return an index that also holds these vectors, after its own items; bytes keep the ranges they were made for.

        Examples
        --------
        >>> len(FlatIndex.build([[1.0, 0.0]]).with_items([[0.0, 1.0], [2.0, 0.0]]))
        3
        """
        stored, guard = self.stored.joined(vectors), self.guard
        if guard is not None:
            guard = guard.joined(Int8Prefilter.of(ItemVectors(stored.rows[len(self) :])))
        return type(self)(stored, guard)

    def without_items(self, items: NDArray[Any]) -> Self:
        """Return an index without the items of these numbers; those after them move up."""
        kept = np.delete(np.arange(len(self)), as_array("items", items, np.int64))
        return type(self)(self.stored.kept(kept), None if self.guard is None else self.guard.kept(kept))

    @property
    def nbytes(self) -> int:
        """Bytes of the stored vectors and of their guard."""
        return self.stored.nbytes + (0 if self.guard is None else self.guard.nbytes)

    @property
    def options(self) -> dict[str, Any]:
        """What `build` was given, so that other vectors can be indexed alike."""
        return super().options | ({"guarded": True} if self.guard is not None else {})

    def _search(self, rows: Float32Array, k: int, filter: Filter | None, threads: int) -> Candidates:
        if self.guard is not None and 0 < len(rows) <= MAX_PREFILTERED_QUERIES:
            return self._guarded(self.guard, rows, k, None if filter is None else filter.numbers, threads)
        if filter is None:
            found, count = flat_search(rows, self.stored, k, threads=threads), len(self)
        elif len(rows) == 1 and filter.count > MIN_STREAMED_SHARE * len(self):
            found, count = flat_search(rows, self.stored, k, flags=filter.mask, threads=threads), len(self)
        else:
            found, count = flat_search(rows, self.stored, k, filter.numbers, threads=threads), filter.count
        # A pass reads every vector once, however many queries it serves.
        read = found.reads * count * self._row_bytes
        return Candidates.unchecked(found.offsets, found.items, found.scores, None, Stats(bytes=read, exact=True))

    def _guarded(
        self, guard: Int8Prefilter, rows: Float32Array, k: int, numbers: Int32Array | None, threads: int
    ) -> Candidates:
        found = guard.search(rows, self.stored, k, numbers, threads)
        bytes = len(rows) * (len(self) if numbers is None else len(numbers)) * guard.codes.shape[1]
        stats = Stats(scored=found.reads, bytes=bytes + found.reads * self._row_bytes, exact=True)
        return Candidates.unchecked(found.offsets, found.items, found.scores, None, stats)

    def _write(self, writer: ArtifactWriter) -> None:
        self.stored.write(writer)
        if self.guard is not None:
            self.guard.write(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        return cls(ItemVectors.read(reader), Int8Prefilter.read(reader))
