"""Base classes of approximate indexes, which search candidates and score them exactly."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.core.candidates import Candidates, Stats
from vizsla.data.filter import Filter
from vizsla.errors import InputError, check_positive
from vizsla.indexes.dense_index import DenseIndex, StoredIndex
from vizsla.indexes.flat import FlatIndex
from vizsla.typing import BoolArray, Float32Array

if TYPE_CHECKING:
    from vizsla.base.encoder import Rows
    from vizsla.core.sparse import Matrix


class ApproximateIndex(DenseIndex):
    """Base class of HNSW and IVF: candidates get exact scores, and exact search completes filtered answers."""

    exact = False

    @abstractmethod
    def flat(self) -> DenseIndex:
        """Return the exact twin over the same stored vectors or codes."""

    def search(
        self,
        queries: Rows | Matrix,
        k: int,
        *,
        filter: Filter | BoolArray | None = None,
        threads: int = 1,
        exact: bool = False,
    ) -> Candidates:
        """Return `k` items of every row with large inner products; with `exact`, those with the largest.

        How hard a search tries does not depend on `k`: an answer is the head of a longer one, and shorter than `k`
        where the structure visits fewer items. With `filter`, `k` items are found whenever so many are allowed: the
        structure visits more, and a row that it leaves short is answered exactly.
        """
        if exact:
            return self.flat().search(queries, k, filter=filter, threads=threads)
        return super().search(queries, k, filter=filter, threads=threads)

    def _search(self, rows: Float32Array, k: int, filter: Filter | None, threads: int) -> Candidates:
        reachable = len(self) if filter is None else filter.count
        k = min(k, reachable)
        # Where the structure would have to visit most of what it may return, visiting all of it is faster and exact.
        if not len(rows) or not k or self._pays(k, reachable):
            return self._exactly(rows, max(k, 1), filter, threads)
        found = self._scored(rows, self._propose(rows, k, filter, threads))
        if filter is not None and len(found.items) < k * len(rows):
            short = np.flatnonzero(np.diff(found.offsets) < k)
            found = _replaced(found, short, self._exactly(rows[short], k, filter, threads))
        return found

    def _exactly(self, rows: Float32Array, k: int, filter: Filter | None, threads: int) -> Candidates:
        """Answer as the exact twin does."""
        return self.flat()._search(rows, k, filter, threads)

    @abstractmethod
    def _propose(self, rows: Float32Array, k: int, filter: Filter | None, threads: int) -> NDArray[np.int64]:
        """Return at most k item numbers for each row, -1 where there is none."""

    @abstractmethod
    def _pays(self, k: int, reachable: int) -> bool:
        """Say whether scanning the `reachable` items exactly is about as fast as asking the structure."""

    def _asked(self, rows: Float32Array) -> Float32Array:
        """Return queries as the structure compares them with what it holds."""
        return rows

    def _scored(self, rows: Float32Array, proposed: NDArray[np.int64]) -> Candidates:
        numbers, columns = np.nonzero(proposed >= 0)
        items = proposed[numbers, columns].astype(np.int32)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=len(rows)))]).astype(np.int64)
        scores = self._pairs(rows, numbers, items)
        # No scores were asked for, and Faiss does not say how much it read: the cost stays open.
        return Candidates.ranked(offsets, items, scores)


def _replaced(found: Candidates, rows: NDArray[np.int64], others: Candidates) -> Candidates:
    """Replace the answers of some rows."""
    parts = [found.row(number) for number in range(len(found))]
    for place, number in enumerate(rows.tolist()):
        parts[number] = others.row(place)
    items = np.concatenate([items for items, _ in parts])
    scores = np.concatenate([np.asarray(scores) for _, scores in parts])
    offsets = np.cumsum([0, *(len(items) for items, _ in parts)], dtype=np.int64)
    return Candidates.unchecked(offsets, items, scores, None, found.stats + others.stats)


def check_whole(name: str, value: int, most: int, *, least: int = 1) -> int:
    """Return a whole number from `least` to `most`, or raise."""
    if not least <= check_positive(name, value) <= most:
        raise InputError(f"`{name}` must be between {least} and {most}. Got {value}.")
    return int(value)


class ApproximateStoredIndex(ApproximateIndex, StoredIndex):
    """HNSW or IVF over stored vectors."""

    def flat(self) -> FlatIndex:
        """Return the exact twin over the same stored vectors."""
        return FlatIndex(self.stored)

    def _scored(self, rows: Float32Array, proposed: NDArray[np.int64]) -> Candidates:
        stored, proposed = self.stored, np.ascontiguousarray(proposed, np.int64)
        try:
            packed: Any = _native.score_proposed(rows, proposed, stored.rows, stored.low, stored.step)
        except ValueError as error:
            raise InputError(f"`vectors` must give finite scores. Got others: {error}.") from error
        offsets, items, scores = map(np.frombuffer, packed, (np.int64, np.int32, np.float32))
        # No scores were asked for, and Faiss does not say how much it read: the cost stays open.
        return Candidates.unchecked(offsets, items, scores, None, Stats())
