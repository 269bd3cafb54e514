"""Exact search: BLAS finds who could be among the best, `pair_dots` says who is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Numbers, Offsets, Scores
from vizsla.indexes.dots import pair_dots
from vizsla.indexes.item_vectors import Floats, ItemVectors, blocks

LARGEST = 1 << 21
"""Approximate scores held at once: what the product leaves in the cache is looked at before it goes."""
FOLD = 32
SPARE = 4

Rows = NDArray[np.int64]


def flat_search(
    queries: Floats, vectors: ItemVectors, k: int, numbers: Numbers | None
) -> tuple[Offsets, Numbers, Scores]:
    """Return the best `k` of every query among all items, or among `numbers`: offsets, items, scores.

    However BLAS adds, its sums differ from the exact ones by at most γ·|q|·|v| (Higham, Accuracy and Stability, 3.1).
    Whoever lies within twice that of the k-th best is scored again, so nobody is missed, ties included.
    """
    slack = 2 * _rounding(queries, vectors)
    count = len(vectors) if numbers is None else len(numbers)
    least = np.full(len(queries), -np.inf, np.float32)
    parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))]
    for start, end in blocks(count, max(1, len(queries)), size=max(LARGEST, SPARE * k * len(queries))):
        block = vectors.take(slice(start, end) if numbers is None else numbers[start:end])
        sums = _products(queries, block)
        least = np.fmax(least, _mark(sums, k) - slack)
        rows, columns = _reaching(sums, least)
        parts.append((rows, columns + start, sums[rows, columns]))
    rows, places = _near(parts, least, slack, k)
    found = places.astype(np.int32) if numbers is None else numbers[places]
    return _best(rows, found, pair_dots(queries, rows, vectors, found), len(queries), k)


def _products(queries: Floats, block: Floats) -> Floats:
    # One query is a matrix times a vector: BLAS reads the vectors once either way, but this kernel is the faster.
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is scored in float64
        return (block @ queries[0])[None, :] if len(queries) == 1 else queries @ block.T


def _mark(sums: Floats, k: int) -> Floats:
    """Return a sum for every query that at least `k` items reach, or -inf: the k-th of the best of groups of items.

    Finding the k-th of a few hundred maxima is far cheaper than finding it among all, and nearly as high.
    """
    width = sums.shape[1]
    if width < k:
        return np.full(len(sums), -np.inf, np.float32)
    fold = max(1, min(FOLD, width // (SPARE * k)))
    groups = width // fold
    best = sums[:, : fold * groups].reshape(len(sums), fold, groups).max(axis=1) if fold > 1 else sums
    return np.partition(best, groups - k, axis=1)[:, groups - k]


def _reaching(sums: Floats, least: Floats) -> tuple[Rows, Rows]:
    # Negated, so that a sum that overflowed to NaN is scored too.
    flat = np.flatnonzero(~(sums < least[:, None]))
    rows = flat // sums.shape[1] if len(sums) > 1 else np.zeros(len(flat), np.int64)
    return rows, flat - rows * sums.shape[1]


def _near(parts: list[tuple[Rows, Rows, Floats]], least: Floats, slack: Floats, k: int) -> tuple[Rows, Rows]:
    """Join what the blocks gave, by query, and leave out who is no longer within reach of the k-th best."""
    rows, places, sums = (np.concatenate(column) for column in zip(*parts, strict=True))
    if len(parts) == 2:
        return rows, places
    order = np.argsort(rows, kind="stable")
    rows, places, sums = rows[order], places[order], sums[order]
    kept = ~(sums < np.fmax(least, _kth(rows, sums, len(least), k) - slack)[rows])
    return rows[kept], places[kept]


def _kth(rows: Rows, sums: Floats, queries: int, k: int) -> Floats:
    """Return each query's k-th best sum, -inf where there are fewer; `rows` ascend."""
    order = np.lexsort((-sums, rows))
    counts = np.bincount(rows, minlength=queries)
    firsts = np.cumsum(counts) - counts
    kth = np.full(queries, -np.inf, np.float32)
    full = counts >= k
    kth[full] = sums[order[firsts[full] + k - 1]]
    return kth


def _rounding(queries: Floats, vectors: ItemVectors) -> Floats:
    lengths = np.sqrt(np.square(queries, dtype=np.float64).sum(axis=1))
    gamma = (vectors.dim + 4) * 2.0**-24
    with np.errstate(over="ignore"):  # a bound that is infinite keeps everybody
        return np.asarray(gamma * lengths * vectors.longest * 1.01 + 1e-37 * vectors.dim, np.float32)


def _best(rows: Rows, items: Numbers, scores: Scores, queries: int, k: int) -> tuple[Offsets, Numbers, Scores]:
    order = np.lexsort((items, -scores, rows))
    counts = np.bincount(rows, minlength=queries)
    ranks = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    order = order[ranks < k]
    offsets = np.concatenate([[0], np.cumsum(np.minimum(counts, k))]).astype(np.int64)
    return offsets, items[order], scores[order]
