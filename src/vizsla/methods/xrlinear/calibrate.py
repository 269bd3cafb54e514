"""Learns from items with clicks how the matcher of an item without clicks should be made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vizsla.methods.xrlinear.cold import Calibration

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ITEMS = 2000
NEGATIVES = 50
"""So many items play the part of new ones, each against so many queries: more would not move three numbers."""


def calibrate(
    near: csr_array,
    matchers: csr_array,
    vectors: csr_array,
    features: csr_array,
    clicks: csr_array,
    leaf_of: NDArray[np.int64],
    *,
    bias: float,
    seed: int,
) -> Calibration:
    """Fit the three numbers of a Calibration on items that do have clicks.

    Each sampled item is treated as if it had none: its matcher is made from its neighbours' and from its text, and meets
    the queries that clicked it and those that clicked its leaf's other items. The three numbers minimise the squared
    hinge loss over all these meetings, positives and negatives weighing the same.

    Parameters
    ----------
    near : csr_array
        Items × items: each item's neighbours, itself left out, as shares of 1. Items without a row are not used.
    matchers : csr_array
        Items × (features and the bias).
    vectors : csr_array
        Items × features: their texts.
    features : csr_array
        Queries × features.
    clicks : csr_array
        Queries × items.
    leaf_of : int array
        The leaf of each item.
    bias : float
        The value of the bias feature.
    seed : int
        Draws items and queries.
    """
    queries, items, labels = _meetings(near, clicks, leaf_of, np.random.default_rng(seed))
    if not labels.any() or labels.all():
        return Calibration(1.0, 1.0, 0.0)
    asked = features[queries]
    mean = (near @ matchers)[items]
    by_neighbours = _dots(asked, mean[:, : features.shape[1]]) + bias * mean[:, [features.shape[1]]].toarray().ravel()
    by_text = _dots(asked, vectors[items])
    return Calibration(*_fit(np.column_stack([by_neighbours, by_text, np.full(len(items), bias)]), labels))


def _meetings(
    near: csr_array, clicks: csr_array, leaf_of: NDArray[np.int64], pick: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Draw items, and for each the queries that clicked it and some that clicked others of its leaf."""
    by_item = clicks.T.tocsr()
    usable = np.flatnonzero((np.diff(by_item.indptr) > 0) & (np.diff(near.indptr) > 0))
    chosen = np.sort(pick.permutation(usable)[:ITEMS])
    order = np.argsort(leaf_of, kind="stable")
    bounds = np.searchsorted(leaf_of[order], np.arange(int(leaf_of.max()) + 2))
    queries, items, labels = [], [], []
    for item in chosen.tolist():
        own = by_item.indices[by_item.indptr[item] : by_item.indptr[item + 1]]
        siblings = order[bounds[leaf_of[item]] : bounds[leaf_of[item] + 1]]
        others = np.setdiff1d(by_item[siblings].indices, own)
        others = others[pick.permutation(len(others))[:NEGATIVES]]
        queries += [own, others]
        items.append(np.full(len(own) + len(others), item))
        labels.append(np.arange(len(own) + len(others)) < len(own))
    return np.concatenate(queries), np.concatenate(items), np.concatenate(labels)


def _dots(left: csr_array, right: csr_array) -> NDArray[np.float64]:
    return np.asarray(left.multiply(right).sum(axis=1), dtype=np.float64).ravel()


def _fit(margins: NDArray[np.float64], labels: NDArray[np.bool_]) -> list[float]:
    from scipy.optimize import minimize

    signs = np.where(labels, 1.0, -1.0)
    import os; ratio = float(os.environ.get("R", "1")); costs = np.where(labels, 1.0, ratio); costs = costs / costs.sum()

    def loss(numbers: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        gaps = np.maximum(0, 1 - signs * (margins @ numbers))
        return float(costs @ gaps**2), -2 * margins.T @ (costs * signs * gaps)

    found = minimize(loss, np.array([1.0, 1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=[(0, None), (0, None), (None, None)])
    return [float(number) for number in found.x]
