"""Holm's correction: many comparisons find a difference by chance sooner than one does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return p-values corrected for their number, after Holm (1979).

    The smallest of m is multiplied by m, the next by m − 1, and so on; none gets smaller than one before it.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    corrected = np.empty(len(p), dtype=np.float64)
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0) if len(p) else p
    return corrected
