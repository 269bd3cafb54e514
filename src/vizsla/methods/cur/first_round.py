"""The first round of several retrievers: each gets a share of the calls by what it explains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vizsla.methods.cur.choose import best_places

Floats = NDArray[np.float32]
Items = NDArray[np.int64]


def shared_first(rankings: Sequence[Floats], shares: NDArray[np.float64], free: NDArray[np.bool_], size: int) -> Items:
    """Return the first items: whoever is furthest behind its share names its best item that nobody has named.

    Parameters
    ----------
    rankings : sequence of arrays
        A score an item, by each.
    shares : float64 array
        What each may name, relative to the others; 0 for nothing.
    free : bool array
        What may be named.
    size : int
        How many in all.

    Examples
    --------
    >>> by_a, by_b = np.array([3, 2, 1, 0], np.float32), np.array([0, 1, 2, 3], np.float32)
    >>> shared_first([by_a, by_b], np.array([2.0, 1.0]), np.ones(4, bool), 3).tolist()
    [0, 3, 1]
    """
    size = min(size, int(np.count_nonzero(free)))
    lists = [iter(best_places(np.where(free, ranking, -np.inf), size).tolist()) for ranking in rankings]
    named: dict[int, None] = {}
    counts = np.zeros(len(lists))
    shares = np.asarray(shares, np.float64) if np.any(shares) else np.ones(len(lists))
    while len(named) < size:
        turn = int(np.argmin(np.where(shares > 0, (counts + 0.5) / np.maximum(shares, 1e-12), np.inf)))
        new = next((item for item in lists[turn] if item not in named), None)
        counts[turn] += 1
        if new is not None:
            named[new] = None
    return np.array(list(named), np.int64)
