"""FlatIndex: exact search over item vectors."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla.candidates import Candidates, Numbers, Offsets, Scores
from vizsla.filter import Filter
from vizsla.indexes.dense_index import DenseIndex
from vizsla.indexes.flat_search import flat_search
from vizsla.indexes.item_vectors import Floats, ItemVectors
from vizsla.stats import Stats

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

BATCH = 256
"""Queries answered in one matrix product."""


class FlatIndex(DenseIndex):
    """Every item's inner product with the query; the answer depends neither on the batch, nor on `k`, nor on threads.

    Examples
    --------
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
        parts = self._batches(rows, k, numbers, threads)
        offsets, start = [np.zeros(1, np.int64)], 0
        for bounds, _, _ in parts:
            offsets.append(bounds[1:] + start)
            start += int(bounds[-1])
        items = np.concatenate([np.zeros(0, np.int32), *(part[1] for part in parts)])
        scores = np.concatenate([np.zeros(0, np.float32), *(part[2] for part in parts)])
        # A batch reads every vector once, however many queries it holds.
        read = len(parts) * (len(self) if numbers is None else len(numbers)) * self._row_bytes
        return Candidates.trusted(np.concatenate(offsets), items, scores, None, Stats(bytes=read, exact=True))

    def _batches(
        self, rows: Floats, k: int, numbers: Numbers | None, threads: int
    ) -> list[tuple[Offsets, Numbers, Scores]]:
        size = max(1, min(BATCH, -(-len(rows) // threads)))
        batches = [rows[start : start + size] for start in range(0, len(rows), size)]
        if threads == 1 or len(batches) < 2:
            return [flat_search(batch, self.stored, k, numbers) for batch in batches]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda batch: flat_search(batch, self.stored, k, numbers), batches))

    def _write(self, writer: ArtifactWriter) -> None:
        self.stored.write(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        return cls(ItemVectors.read(reader))
