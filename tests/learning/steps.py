"""Differences whose mean is a given number of standard errors."""

from __future__ import annotations

import numpy as np


def gains(count: int, errors: float, *, spread: float = 0.01, ddof: int = 1) -> np.ndarray:
    """Return `count` differences, an even number, whose mean is `errors` standard errors of the mean."""
    swing = spread * np.tile([-1.0, 1.0], count // 2)
    return swing + errors * swing.std(ddof=ddof) / count**0.5
