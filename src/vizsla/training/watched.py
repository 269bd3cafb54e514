"""What a training reports after every step, to whoever watches it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Watched(NamedTuple):
    """How far a training is, and how good.

    Attributes
    ----------
    step, steps : int
        How far it is.
    loss : float
        Of the last step.
    held_out : list of float
        The quality of every look at the held-out queries so far; the first is before training.
    """

    step: int
    steps: int
    loss: float
    held_out: list[float]


Watch = Callable[[Watched], None]
