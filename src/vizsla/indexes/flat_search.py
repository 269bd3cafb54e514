"""Exact search over stored vectors: one native pass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vizsla import _native
from vizsla.candidates import Numbers, Offsets, Scores
from vizsla.filter import Mask
from vizsla.indexes.item_vectors import Floats, ItemVectors


class Found(NamedTuple):
    """The best items of every query, and how often the vectors were read to find them."""

    offsets: Offsets
    items: Numbers
    scores: Scores
    reads: int


def flat_search(
    queries: Floats,
    vectors: ItemVectors,
    k: int,
    numbers: Numbers | None = None,
    *,
    flags: Mask | None = None,
    threads: int = 1,
) -> Found:
    """Return the best `k` of every query among all items, among `numbers`, which ascend, or among those with a flag.

    By number only these vectors are read; by flag all are, in a row: the same answer either way.

    The pass adds in float32. However it adds, its sums differ from the exact ones by at most γ·|q|·|v| (Higham,
    Accuracy and Stability, 3.1). Whoever lies within twice that of the k-th best is scored by `pair_dots`, so nobody is
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
