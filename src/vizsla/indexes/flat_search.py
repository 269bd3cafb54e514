"""Exact search: BLAS finds who could be among the best, `pair_dots` says who is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Numbers, Offsets, Scores
from vizsla.indexes.dots import pair_dots
from vizsla.indexes.item_vectors import Floats, ItemVectors

FIRST = 1024
LARGEST = 1 << 22
"""Approximate scores held at once."""

Rows = NDArray[np.int64]


def flat_search(
    queries: Floats, vectors: ItemVectors, k: int, numbers: Numbers | None
) -> tuple[Offsets, Numbers, Scores]:
    """Return the best `k` of every query among all items, or among `numbers`: offsets, items, scores.

    However BLAS adds, its sums differ from the exact ones by at most γ·|q|·|v| (Higham, Accuracy and Stability, 3.1).
    Whoever lies within twice that of the k-th best is priced again, so nobody is missed, ties included.
    """
    slack = 2 * _rounding(queries, vectors)
    near = _Near(len(queries), k)
    for items in _blocks(len(queries), len(vectors) if numbers is None else len(numbers), k):
        chosen = items if numbers is None else numbers[items]
        sums = queries @ vectors.take(chosen).T
        near.add(sums, items.start, slack)
    rows, places = near.rows, near.items
    found = places.astype(np.int32) if numbers is None else numbers[places]
    return _best(rows, found, pair_dots(queries, rows, vectors, found), len(queries), k)


class _Near:
    """Who is within reach of the best k so far, as flat arrays grouped by nothing."""

    def __init__(self, queries: int, k: int):
        self._queries, self._k = queries, k
        self.rows, self.items = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._sums = np.zeros(0, np.float32)
        self._least = np.full(queries, -np.inf, np.float32)

    def add(self, sums: Floats, start: int, slack: Floats) -> None:
        """Take in a block of approximate scores, queries × items; items are numbered from `start`."""
        rows, columns = np.nonzero(sums >= self._least[:, None])
        self.rows = np.concatenate([self.rows, rows])
        self.items = np.concatenate([self.items, columns + start])
        self._sums = np.concatenate([self._sums, sums[rows, columns]])
        self._least = np.maximum(self._least, self._kth() - slack)
        kept = self._sums >= self._least[self.rows]
        self.rows, self.items, self._sums = self.rows[kept], self.items[kept], self._sums[kept]

    def _kth(self) -> Floats:
        """Return each query's k-th best sum, -inf where there are fewer."""
        # Row and sum as one number that sorts by row, best sum first: one fast sort for all queries.
        keys = (self.rows << 32) | (_descending(self._sums).astype(np.int64))
        order = np.argsort(keys, kind="stable")
        counts = np.bincount(self.rows, minlength=self._queries)
        firsts = np.cumsum(counts) - counts
        kth = np.full(self._queries, -np.inf, np.float32)
        full = counts >= self._k
        kth[full] = self._sums[order[firsts[full] + self._k - 1]]
        return kth


def _rounding(queries: Floats, vectors: ItemVectors) -> Floats:
    lengths = np.sqrt(np.square(queries, dtype=np.float64).sum(axis=1))
    gamma = (vectors.dim + 4) * 2.0**-24
    return np.asarray(gamma * lengths * vectors.longest * 1.01 + 1e-37 * vectors.dim, np.float32)


def _blocks(queries: int, count: int, k: int) -> Iterator[slice]:
    """Yield growing blocks: the first few items set a mark that spares most of the others a sort."""
    start, largest = 0, max(FIRST, LARGEST // max(1, queries))
    size = min(max(FIRST, 2 * k), largest)
    while start < count:
        yield slice(start, min(start + size, count))
        start, size = start + size, min(2 * (start + size), largest)


def _best(rows: Rows, items: Numbers, scores: Scores, queries: int, k: int) -> tuple[Offsets, Numbers, Scores]:
    order = np.lexsort((items, -scores, rows))
    counts = np.bincount(rows, minlength=queries)
    ranks = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    order = order[ranks < k]
    offsets = np.concatenate([[0], np.cumsum(np.minimum(counts, k))]).astype(np.int64)
    return offsets, items[order], scores[order]


def _descending(values: Floats) -> NDArray[np.uint32]:
    """Return whole numbers that sort like the values backwards."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rising = np.where(bits >> 31 == 1, ~bits, bits | np.uint32(1 << 31))
    return ~rising
