"""Which items are scored next: the best by estimate, drawn by softmax, or at random."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Places = NDArray[np.int64]
HOW = ("topk", "softmax", "random")


def choose(
    estimates: Floats, free: NDArray[np.bool_], count: int, how: str, epsilon: float, random: np.random.Generator
) -> Places:
    """Return `count` free places, or all that there are; a share of `epsilon` is drawn at random.

    Examples
    --------
    >>> estimates, free = np.array([1.0, 3.0, 2.0], np.float32), np.array([True, False, True])
    >>> choose(estimates, free, 1, "topk", 0.0, np.random.default_rng(0)).tolist()
    [2]
    """
    count = min(count, int(np.count_nonzero(free)))
    blind = count if how == "random" else round(epsilon * count)
    keys = estimates if how != "softmax" else estimates + random.gumbel(size=len(estimates)).astype(np.float32)
    chosen = best_places(np.where(free, keys, -np.inf), count - blind)
    if not blind:
        return chosen
    left = free.copy()
    left[chosen] = False
    return np.concatenate([chosen, drawn(left, blind, random)])


def drawn(free: NDArray[np.bool_], count: int, random: np.random.Generator) -> Places:
    """Return `count` free places at random, or all that there are.

    Examples
    --------
    >>> drawn(np.array([False, True]), 5, np.random.default_rng(0)).tolist()
    [1]
    """
    places = np.flatnonzero(free)
    return random.choice(places, min(max(0, count), len(places)), replace=False)


def best_places(values: Floats, count: int) -> Places:
    """Return the places of the largest values, the best first; of equals, the lower places.

    Examples
    --------
    >>> best_places(np.array([1.0, 3.0, 3.0], np.float32), 2).tolist()
    [1, 2]
    """
    if count <= 0:
        return np.zeros(0, np.int64)
    if count < len(values):
        least = np.partition(values, len(values) - count)[len(values) - count]
        places = np.flatnonzero(values >= least)
    else:
        places = np.arange(len(values))
    return places[np.lexsort((places, -values[places]))][:count]
