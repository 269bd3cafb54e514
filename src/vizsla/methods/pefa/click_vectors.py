"""The click vector of an item: the direction of its clicks' queries added up (Eq. 7 with its Π)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.log import ClickLog, Floats
from vizsla.clicks.matrices import Rows, divided, is_sparse, lengths_of
from vizsla.errors import InputError

STEP = 2**28
"""A vector's numbers are rounded to 1 / STEP and added as whole numbers: exact, so the order cannot matter."""
MOST = 2**62
COLUMNS = 64


def click_vectors(
    log: ClickLog, items: NDArray[np.int64], weights: Floats | None = None
) -> tuple[Rows, NDArray[np.bool_]]:
    """Return the click vectors of these items, of length 1, and which of them have clicks; others get zeros.

    With `weights`, each column counts so much in an item's row: a bag's rare words more than its common ones.

    Examples
    --------
    >>> from vizsla.strings import Strings
    >>> log = ClickLog.of([("a", "x", 3), ("b", "x", 4)], Strings.of(["x", "y"]), lambda texts: np.eye(2))
    >>> vectors, clicked = click_vectors(log, np.arange(2))
    >>> vectors.astype(float).round(4).tolist(), clicked.tolist()
    ([[0.6, 0.8], [0.0, 0.0]], [True, False])
    """
    by_item = log.matrix.T.tocsr()[items]
    totals = by_item.sum(axis=1) if by_item.nnz else np.zeros(len(items), np.int64)
    if len(totals) and int(np.max(totals)) > MOST // STEP:
        raise InputError(f"The clicks of an item must weigh less than {MOST // STEP // 1024} in all. Got more.")
    sums: Rows = _sparse_sums(by_item, log.vectors) if is_sparse(log.vectors) else _sums(by_item, log.vectors)
    if weights is not None:
        sums = sums.multiply(weights[None, :]).tocsr() if is_sparse(sums) else sums * weights
    lengths = lengths_of(sums)
    return divided(sums, lengths), lengths > 0


def _sums(by_item: Any, vectors: Floats) -> NDArray[np.float64]:
    sums = np.empty((by_item.shape[0], vectors.shape[1]), np.float64)
    for start in range(0, vectors.shape[1], COLUMNS):
        part = np.rint(vectors[:, start : start + COLUMNS].astype(np.float64) * STEP).astype(np.int64)
        sums[:, start : start + COLUMNS] = by_item @ part
    return sums


def _sparse_sums(by_item: Any, vectors: Rows) -> Rows:
    whole = vectors.astype(np.float64)
    whole.data = np.rint(whole.data * STEP)
    sums = (by_item @ whole.astype(np.int64)).tocsr()
    sums.sort_indices()
    return sums.astype(np.float64)
