"""AdamW: a step a gradient, with weight decay towards where the parameters began."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError, check_range

Floats = NDArray[np.float32]


class AdamW:
    """Adam with decoupled weight decay (Loshchilov and Hutter), in float32.

    Decay pulls towards the first value instead of zero: an adapter begins as the identity and centroids as k-means'.

    Parameters
    ----------
    parameters : float32 array
        Changed in place by `step`.
    rate : float
        The learning rate.
    decay : float
        How much of the way back to the start a step goes, times the rate.

    Examples
    --------
    >>> values = np.ones(2, np.float32)
    >>> AdamW(values, rate=0.1).step(np.array([2.0, -0.5], np.float32))
    >>> [round(float(value), 3) for value in values]
    [0.9, 1.1]
    """

    FIRST, SECOND, LEAST = 0.9, 0.999, 1e-8

    def __init__(self, parameters: Floats, *, rate: float, decay: float = 0.0):
        check_range("rate", rate, 0, 1)
        check_range("decay", decay, 0, 1)
        self.parameters, self.rate, self.decay, self.steps = parameters, rate, decay, 0
        self.start = parameters.copy()
        self.mean, self.square = np.zeros_like(parameters), np.zeros_like(parameters)

    def step(self, gradient: Floats, *, factor: float = 1.0) -> None:
        """Move against the gradient; `factor` is the schedule's share of the rate."""
        if gradient.shape != self.parameters.shape:
            raise InputError(f"`gradient` must have shape {self.parameters.shape}. Got {gradient.shape}.")
        self.steps += 1
        self.mean += np.float32(1 - self.FIRST) * (gradient - self.mean)
        self.square += np.float32(1 - self.SECOND) * (gradient * gradient - self.square)
        mean = self.mean / np.float32(1 - self.FIRST**self.steps)
        deviation = np.sqrt(self.square / np.float32(1 - self.SECOND**self.steps)) + np.float32(self.LEAST)
        rate = np.float32(factor * self.rate)
        self.parameters -= rate * (mean / deviation)
        if self.decay:
            self.parameters -= rate * np.float32(self.decay) * (self.parameters - self.start)

    def state(self) -> dict[str, Floats]:
        """Return the moments, as a checkpoint holds them."""
        return {"mean": self.mean, "square": self.square}

    def resume(self, steps: int, mean: Floats, square: Floats) -> None:
        """Go on from a checkpoint's moments."""
        if mean.shape != self.parameters.shape or square.shape != self.parameters.shape:
            raise InputError(f"The moments must have shape {self.parameters.shape}. Got {mean.shape}, {square.shape}.")
        self.steps, self.mean, self.square = steps, mean.copy(), square.copy()
