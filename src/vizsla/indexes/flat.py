"""FlatIndex: exact search over item vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from vizsla.candidates import Candidates
from vizsla.filter import Filter
from vizsla.indexes.flat_search import flat_search
from vizsla.indexes.item_vectors import Floats, ItemVectors
from vizsla.indexes.stored_index import StoredIndex
from vizsla.stats import Stats

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


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

    @classmethod
    def build(cls, vectors: Any, *, storage: str | None = None) -> Self:
        """Index vectors, a row an item.

        Parameters
        ----------
        vectors : array, items × dimensions
            float32 and float16 arrays are kept, not copied: do not change them later. A memory-mapped array stays on
            the disk.
        storage : {"float32", "float16", "int8"}, optional
            How to keep them. Unless given, float16 vectors stay so and all others become float32.
        """
        return cls(ItemVectors.of(vectors, storage=storage))

    def _search(self, rows: Floats, k: int, filter: Filter | None, threads: int) -> Candidates:
        numbers = None if filter is None else filter.numbers
        found = flat_search(rows, self.stored, k, numbers, threads=threads)
        # A pass reads every vector once, however many queries it serves.
        read = found.reads * (len(self) if numbers is None else len(numbers)) * self._row_bytes
        return Candidates.trusted(found.offsets, found.items, found.scores, None, Stats(bytes=read, exact=True))

    def _write(self, writer: ArtifactWriter) -> None:
        self.stored.write(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        return cls(ItemVectors.read(reader))
