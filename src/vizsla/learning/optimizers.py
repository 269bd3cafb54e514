"""AdamW, learning-rate schedule and gradient clipping in numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError, check_range
from vizsla.typing import Float32Array


class AdamW:
    """Adam with decoupled weight decay (Loshchilov and Hutter), in float32.

    Decay pulls towards the first value unless `to_zero`: an adapter begins as the identity and centroids as k-means'.

    Parameters
    ----------
    parameters : float32 array
        Changed in place by `step`.
    rate : float
        The learning rate.
    decay : float
        Weight decay towards the start, per step, times the rate.
    to_zero : bool
        Let decay pull towards 0, as Loshchilov and Hutter have it.

    Examples
    --------
    >>> values = np.ones(2, np.float32)
    >>> AdamW(values, rate=0.1).step(np.array([2.0, -0.5], np.float32))
    >>> [round(float(value), 3) for value in values]
    [0.9, 1.1]
    """

    FIRST_DECAY, SECOND_DECAY, EPSILON = 0.9, 0.999, 1e-8

    def __init__(self, parameters: Float32Array, *, rate: float, decay: float = 0.0, to_zero: bool = False):
        check_range("rate", rate, 0, 1)
        check_range("decay", decay, 0, 1)
        self.parameters, self.rate, self.decay, self.steps = parameters, rate, decay, 0
        self.start = parameters.copy()
        self._to_zero = to_zero
        self.mean, self.square = np.zeros_like(parameters), np.zeros_like(parameters)

    def step(self, gradient: Float32Array, *, factor: float = 1.0) -> None:
        """Move against the gradient; `factor` is the schedule's share of the rate."""
        if gradient.shape != self.parameters.shape:
            raise InputError(f"`gradient` must have shape {self.parameters.shape}. Got {gradient.shape}.")
        self.steps += 1
        self.mean += np.float32(1 - self.FIRST_DECAY) * (gradient - self.mean)
        self.square += np.float32(1 - self.SECOND_DECAY) * (gradient * gradient - self.square)
        mean = self.mean / np.float32(1 - self.FIRST_DECAY**self.steps)
        deviation = np.sqrt(self.square / np.float32(1 - self.SECOND_DECAY**self.steps)) + np.float32(self.EPSILON)
        rate = np.float32(factor * self.rate)
        if self.decay and self._to_zero:
            self.parameters -= rate * np.float32(self.decay) * self.parameters
        self.parameters -= rate * (mean / deviation)
        if self.decay and not self._to_zero:
            self.parameters -= rate * np.float32(self.decay) * (self.parameters - self.start)

    def state(self) -> dict[str, Float32Array]:
        """Return the moments, as a checkpoint holds them."""
        return {"mean": self.mean, "square": self.square}

    def resume(self, steps: int, mean: Float32Array, square: Float32Array) -> None:
        """Go on from a checkpoint's moments."""
        if mean.shape != self.parameters.shape or square.shape != self.parameters.shape:
            raise InputError(f"The moments must have shape {self.parameters.shape}. Got {mean.shape}, {square.shape}.")
        self.steps, self.mean, self.square = steps, mean.copy(), square.copy()


MIN_RATE_SHARE = 0.02
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
    return float(min(1.0, max(MIN_RATE_SHARE, left)))


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
