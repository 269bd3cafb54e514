"""Weights that add up to 1: a grid of them, and the steps from one to its neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise, permutations
from math import comb

Weights = tuple[float, ...]

MOST = 300
FINENESS = (10, 5, 4, 3, 2)
"""In how many equal pieces the weight is given away: as many as keep the grid below `MOST`."""


def grid(parts: int) -> list[Weights]:
    """Return weights all over the simplex, and equal ones.

    Examples
    --------
    >>> grid(2)[:3], (0.5, 0.5) in grid(2), len(grid(3))
    ([(0.0, 1.0), (0.1, 0.9), (0.2, 0.8)], True, 67)
    """
    shares = grid_shares(parts)
    found = [tuple(shares[count] for count in counts) for counts in _counts(len(shares) - 1, parts)]
    equal = (1 / parts,) * parts
    return found if equal in found else [*found, equal]


def grid_shares(parts: int) -> list[float]:
    """Return the weights of one part that the grid has with all weights of the others.

    Examples
    --------
    >>> grid_shares(5)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    pieces = next((n for n in FINENESS if comb(n + parts - 1, parts - 1) <= MOST), FINENESS[-1])
    return [round(count / pieces, 6) for count in range(pieces + 1)]


def moves(weights: Weights, step: float) -> Iterator[Weights]:
    """Yield the weights with `step` taken from one part and given to another; no part loses or gains its place.

    Examples
    --------
    >>> list(moves((0.5, 0.5), 0.25))
    [(0.25, 0.75), (0.75, 0.25)]
    """
    used = [at for at, weight in enumerate(weights) if weight > 0]
    for giver, taker in permutations(used, 2):
        if weights[giver] - step > step / 10:
            moved = list(weights)
            moved[giver], moved[taker] = round(moved[giver] - step, 6), round(moved[taker] + step, 6)
            yield tuple(moved)


def _counts(pieces: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to give so many pieces to the parts."""
    for bars in combinations(range(pieces + parts - 1), parts - 1):
        edges = (-1, *bars, pieces + parts - 1)
        yield tuple(after - before - 1 for before, after in pairwise(edges))
