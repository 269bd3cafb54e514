"""FlatIndex: exact search over item vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from vizsla.candidates import Candidates, Numbers
from vizsla.errors import InputError
from vizsla.filter import Filter
from vizsla.indexes.flat_search import flat_search
from vizsla.indexes.guard import LANES, Guard
from vizsla.indexes.item_vectors import Floats, ItemVectors
from vizsla.indexes.stored_index import StoredIndex
from vizsla.stats import Stats

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

FEW = 2
"""Queries that a guard answers, one after the other; more share a pass over the vectors, which is then as fast."""

STREAMED = 0.3
"""Where a filter allows more of the items, one query reads all vectors: in a row they come faster than every third."""


class FlatIndex(StoredIndex):
    """Every item's inner product with the query; the answer depends neither on the batch, nor on `k`, nor on threads.

    Examples
    --------
    >>> import numpy as np
    >>> index = FlatIndex.build([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> found = index.search(np.array([[0.0, 2.0]], np.float32), k=2)
    >>> found.items.tolist(), found.scores.tolist()
    ([2, 1], [2.0, 1.600000023841858])
    """

    kind = "flat"

    def __init__(self, vectors: ItemVectors, guard: Guard | None = None):
        super().__init__(vectors)
        self.guard = guard
        wanted = len(vectors), -(-vectors.dim // LANES) * LANES
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
            How to keep them. Unless given, float16 vectors stay so and all others become float32.
        guarded : bool
            Keep a byte a number beside them, with a bound on its error. A search for one query, or for a few, reads the
            bytes, and in full only vectors that the bound cannot rule out: the same answer, several times faster, for a
            quarter more memory.
        """
        stored = ItemVectors.of(vectors, storage=storage)
        return cls(stored, Guard.of(stored) if guarded else None)

    @property
    def nbytes(self) -> int:
        """Bytes of the stored vectors and of their guard."""
        return self.stored.nbytes + (0 if self.guard is None else self.guard.nbytes)

    @property
    def options(self) -> dict[str, Any]:
        """What `build` was given, so that other vectors can be indexed alike."""
        return super().options | ({"guarded": True} if self.guard is not None else {})

    def _search(self, rows: Floats, k: int, filter: Filter | None, threads: int) -> Candidates:
        if self.guard is not None and 0 < len(rows) <= FEW:
            return self._guarded(self.guard, rows, k, None if filter is None else filter.numbers, threads)
        if filter is None:
            found, count = flat_search(rows, self.stored, k, threads=threads), len(self)
        elif len(rows) == 1 and filter.count > STREAMED * len(self):
            found, count = flat_search(rows, self.stored, k, flags=filter.mask, threads=threads), len(self)
        else:
            found, count = flat_search(rows, self.stored, k, filter.numbers, threads=threads), filter.count
        # A pass reads every vector once, however many queries it serves.
        read = found.reads * count * self._row_bytes
        return Candidates.trusted(found.offsets, found.items, found.scores, None, Stats(bytes=read, exact=True))

    def _guarded(self, guard: Guard, rows: Floats, k: int, numbers: Numbers | None, threads: int) -> Candidates:
        found = guard.search(rows, self.stored, k, numbers, threads)
        bytes = len(rows) * (len(self) if numbers is None else len(numbers)) * guard.codes.shape[1]
        stats = Stats(scored=found.reads, bytes=bytes + found.reads * self._row_bytes, exact=True)
        return Candidates.trusted(found.offsets, found.items, found.scores, None, stats)

    def _write(self, writer: ArtifactWriter) -> None:
        self.stored.write(writer)
        if self.guard is not None:
            self.guard.write(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        return cls(ItemVectors.read(reader), Guard.read(reader))
