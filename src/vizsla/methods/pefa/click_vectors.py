"""The click vector of an item: the direction of its clicks' queries added up (Eq. 7 with its Π)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError
from vizsla.methods.pefa.click_log import ClickLog, Floats

STEP = 2**28
"""A vector's numbers are rounded to 1 / STEP and added as whole numbers: exact, so the order cannot matter."""
MOST = 2**62
COLUMNS = 64


def click_vectors(log: ClickLog, items: NDArray[np.int64]) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the click vectors of these items, of length 1, and which of them have clicks; others get zeros.

    Examples
    --------
    >>> from vizsla.strings import Strings
    >>> log = ClickLog.of([("a", "x", 3), ("b", "x", 4)], Strings.of(["x", "y"]), lambda texts: np.eye(2), dim=2)
    >>> vectors, clicked = click_vectors(log, np.arange(2))
    >>> vectors.astype(float).round(4).tolist(), clicked.tolist()
    ([[0.6, 0.8], [0.0, 0.0]], [True, False])
    """
    by_item = log.matrix.T.tocsr()[items]
    totals = by_item.sum(axis=1) if by_item.nnz else np.zeros(len(items), np.int64)
    if len(totals) and int(np.max(totals)) > MOST // STEP:
        raise InputError(f"The clicks of an item must weigh less than {MOST // STEP // 1024} in all. Got more.")
    sums = np.empty((len(items), log.dim), np.float64)
    for start in range(0, log.dim, COLUMNS):
        part = np.rint(log.vectors[:, start : start + COLUMNS].astype(np.float64) * STEP).astype(np.int64)
        sums[:, start : start + COLUMNS] = by_item @ part
    lengths = np.sqrt(np.square(sums).sum(axis=1, keepdims=True))
    clicked: NDArray[np.bool_] = lengths[:, 0] > 0
    return np.asarray(sums / np.where(lengths > 0, lengths, 1.0), np.float32), clicked
