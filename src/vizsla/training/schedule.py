"""Learning-rate schedule and clipping."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LEAST = 0.02
"""The rate never falls below this share, so that the last steps still count."""


def rate_factor(step: int, steps: int, *, warm_up: float) -> float:
    """Return a step's share of the learning rate: a linear rise over the first steps, then a linear fall.

    Parameters
    ----------
    step : int
        Counted from 0.
    steps : int
        How many there will be.
    warm_up : float
        The share of the steps over which the rate rises.

    Examples
    --------
    >>> [round(rate_factor(step, 10, warm_up=0.2), 2) for step in (0, 1, 2, 6, 9)]
    [0.5, 1.0, 1.0, 0.5, 0.12]
    """
    rising = warm_up * steps
    if step + 1 < rising:
        return (step + 1) / rising
    left = (steps - step) / max(1.0, steps - int(rising))
    return float(min(1.0, max(LEAST, left)))


def clipped(gradients: list[NDArray[np.float32]], most: float) -> float:
    """Scale all gradients in place so that their joint length is at most `most`; return the length that was.

    Examples
    --------
    >>> gradients = [np.array([3.0], np.float32), np.array([4.0], np.float32)]
    >>> clipped(gradients, 1.0), [round(float(g[0]), 2) for g in gradients]
    (5.0, [0.6, 0.8])
    """
    length = float(np.sqrt(sum(float(np.square(each, dtype=np.float64).sum()) for each in gradients)))
    if length > most:
        for each in gradients:
            each *= np.float32(most / length)
    return length
