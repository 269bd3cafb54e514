"""Scored: the scores of given pairs, in their order, and what they cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.stats import Stats


class Scored(NamedTuple):
    """Scores of candidates, one an item, in the candidates' order; nothing is sorted until an answer is made.

    Parameters
    ----------
    scores : float32 array
        One number an item.
    stats : Stats
        What scoring cost.
    """

    scores: NDArray[np.float32]
    stats: Stats
