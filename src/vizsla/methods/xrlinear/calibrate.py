"""Learns from items with clicks how the matcher of an item without clicks should be made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vizsla.arguments import generator
from vizsla.methods.xrlinear.calibration import Calibration
from vizsla.methods.xrlinear.item_texts import ItemTexts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ITEMS = 2000
NEGATIVES = 50
"""So many items play the part of new ones, each against so many queries: more would not move three numbers."""

NEGATIVE_COST = 15.0
"""What a drawn negative costs, a positive costing 1.

It decides how boldly items without clicks compete with those that have some: whoever is found takes a place of
an answer. R@10 of queries for items with clicks / without, on clicks held out from tldr's train split (means of four
splits and two seeds, beam 10): no cold start .5794/.173, cost 15 .5785/.224, 12 .5780/.250. On `test-seen` 15 takes
nothing that could be told from chance (.5937 to .5933, three seeds, p = .65).
"""


def calibrate(
    texts: ItemTexts,
    matchers: csr_array,
    features: csr_array,
    clicks: csr_array,
    leaf_of: NDArray[np.int64],
    *,
    bias: float = 1.0,
    neighbours: int = 10,
    seed: int = 0,
    threads: int = 1,
) -> Calibration:
    """Fit the three numbers of a Calibration on items that do have clicks.

    Each sampled item is treated as if it had none: its matcher is made from its neighbours' and from its text, and
    meets the queries that clicked it and those that clicked its leaf's other items. The three numbers minimise the
    squared hinge loss over all these meetings.

    Parameters
    ----------
    texts : ItemTexts
        The items' texts.
    matchers : csr_array
        Items × (features and the bias).
    features : csr_array
        Queries × features.
    clicks : csr_array
        Queries × items.
    leaf_of : int array
        The leaf of each item.
    bias : float
        The value of the bias feature.
    neighbours : int
        How many neighbours an item without clicks has.
    seed : int
        Draws items and queries.
    threads : int
        How many to use; the numbers do not depend on it.
    """
    by_item, pick = clicks.T.tocsr(), generator(seed)
    warm = np.diff(by_item.indptr) > 0
    usable = np.flatnonzero(warm & (np.diff(texts.vectors.indptr) > 0))
    chosen = np.sort(pick.permutation(usable)[:ITEMS])
    near = texts.nearest(texts.vectors[chosen], neighbours, among=warm, own=chosen, threads=threads)
    mean, own = (near @ matchers).tocsr(), texts.vectors[chosen]
    seen = [np.zeros((0, 3))]
    labels = [np.zeros(0, dtype=np.bool_)]
    for row, (queries, positive) in enumerate(_meetings(chosen, by_item, leaf_of, pick)):
        rows = features[queries]
        by_neighbours = rows @ _dense(mean, row)[:-1] + bias * _dense(mean, row)[-1]
        seen.append(np.column_stack([by_neighbours, rows @ _dense(own, row), np.full(len(queries), bias)]))
        labels.append(positive)
    return _fit(np.concatenate(seen), np.concatenate(labels))


def _meetings(
    chosen: NDArray[np.int64], by_item: csr_array, leaf_of: NDArray[np.int64], pick: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
    """Yield for each item the queries that clicked it and some that clicked others of its leaf."""
    order = np.argsort(leaf_of, kind="stable")
    bounds = np.searchsorted(leaf_of[order], np.arange(int(leaf_of.max(initial=0)) + 2))
    for item in chosen.tolist():
        own = by_item.indices[by_item.indptr[item] : by_item.indptr[item + 1]]
        siblings = order[bounds[leaf_of[item]] : bounds[leaf_of[item] + 1]]
        others = np.setdiff1d(by_item[siblings].indices, own)
        others = others[pick.permutation(len(others))[:NEGATIVES]]
        yield np.concatenate([own, others]), np.arange(len(own) + len(others)) < len(own)


def _dense(matrix: csr_array, row: int) -> NDArray[np.float64]:
    values = np.zeros(matrix.shape[1])
    at = slice(matrix.indptr[row], matrix.indptr[row + 1])
    values[matrix.indices[at]] = matrix.data[at]
    return values


def _fit(margins: NDArray[np.float64], labels: NDArray[np.bool_]) -> Calibration:
    from scipy.optimize import minimize

    if not labels.any() or labels.all():
        return Calibration(1.0, 1.0, 0.0)  # nothing to tell apart
    signs = np.where(labels, 1.0, -1.0)
    costs = np.where(labels, 1.0, NEGATIVE_COST)
    costs /= costs.sum()

    def loss(numbers: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        gaps = np.maximum(0, 1 - signs * (margins @ numbers))
        return float(costs @ gaps**2), -2 * margins.T @ (costs * signs * gaps)

    bounds = [(0, None), (0, None), (None, None)]
    found = minimize(loss, np.array([1.0, 1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=bounds)
    return Calibration(*(float(number) for number in found.x))
