"""The first round: some items are named by the retrievers, each by what it explains; the estimates choose the rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vizsla.methods.cur.choose import best_places
from vizsla.methods.cur.estimates import Estimates, Floats, Items


def first_rounds(
    estimates: Estimates, explained: NDArray[np.float64], free: NDArray[np.bool_], size: int
) -> list[Items] | None:
    """Return each query's first items, or None where no retriever names any.

    A retriever that explains little hardly moves the estimates, yet its own best items are more often good ones than
    others are. One that explains much names what the estimates would choose.

    Parameters
    ----------
    estimates : Estimates
        Of the queries, before any score.
    explained : float64 array
        The share of the variance that each retriever explains: so are the named items shared among them.
    free : bool array, queries × items
        What may be scored.
    size : int
        Calls of the round.
    """
    if not len(explained):
        return None
    half = -(-size // 2)
    named = [shared_first(own, explained, row, half) for own, row in zip(estimates.features(), free, strict=True)]
    left = free.copy()
    for row, items in zip(left, named, strict=True):
        row[items] = False
    best = estimates.best(left, size)
    return [np.concatenate([items, more[: size - len(items)]]) for items, (more, _) in zip(named, best, strict=True)]


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
