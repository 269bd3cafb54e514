"""What needs no learning: a token's weight by how rare it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def idf(frequencies: NDArray[np.int64], documents: int) -> NDArray[np.float32]:
    """Return BM25's weight of each token, ``log(1 + (n - df + 0.5) / (df + 0.5))``; 0 for one that no item holds.

    Examples
    --------
    >>> [f"{weight:.4f}" for weight in idf(np.array([0, 1, 3]), 3)]
    ['0.0000', '0.9808', '0.1335']
    """
    weights = np.log1p((documents - frequencies + 0.5) / (frequencies + 0.5))
    return np.where(frequencies > 0, weights, 0).astype(np.float32)
