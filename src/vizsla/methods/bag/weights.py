"""What needs no learning: a token's weight by how rare it is, and an item's norm by how long it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FLOOR = 1.2
"""What is added to an item's relative length, so that short items are not lifted without limit (BM25's k1)."""


def idf(frequencies: NDArray[np.int64], documents: int) -> NDArray[np.float32]:
    """Return BM25's weight of each token, ``log(1 + (n - df + 0.5) / (df + 0.5))``; 0 for one that no item holds.

    Examples
    --------
    >>> [f"{weight:.4f}" for weight in idf(np.array([0, 1, 3]), 3)]
    ['0.0000', '0.9808', '0.1335']
    """
    weights = np.log1p((documents - frequencies + 0.5) / (frequencies + 0.5))
    return np.where(frequencies > 0, weights, 0).astype(np.float32)


def length_norms(lengths: NDArray[np.int32], mean: float, b: float) -> NDArray[np.float32]:
    """Return ``1 / (1.2 + 1 - b + b L / mean)`` for items of L distinct tokens.

    Examples
    --------
    >>> [f"{norm:.4f}" for norm in length_norms(np.int32([1, 3]), 2.0, 0.5)]
    ['0.5128', '0.4082']
    """
    relative = lengths / mean if mean > 0 else np.zeros(len(lengths))
    return (1 / (FLOOR + 1 - b + b * relative)).astype(np.float32)
