"""Position bias: how often each position of a list is looked at, by a log; and clicks that are weighed against it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vizsla.errors import InputError
from vizsla.typing import BoolArray, Float64Array, Int64Array

MAX_POSITION = 20
"""Positions below this one are taken together: a log says little of each."""
MAX_CORRECTION = 10.0
"""A click counts at most so many times as much as one at the first position: more would be mostly noise."""
MAX_ROUNDS, TOLERANCE = 500, 1e-6

Shown = Mapping[tuple[str, str, int], float]
"""How often an item was shown for a query at a position: `{(query, item, position): times}`."""


class PositionedClick(NamedTuple):
    """A click and where in the list it was made.

    Attributes
    ----------
    query, item : str
        The query's text, and the item's id.
    weight : float
        What it weighs.
    time : float or None
        When it was made, in seconds since 1970.
    position : int or None
        1 for the first of the list; None where it is not known.
    """

    query: str
    item: str
    weight: float
    time: float | None
    position: int | None


def position_propensities(clicks: Iterable[PositionedClick], shown: Shown) -> Float64Array:
    """Return how likely each position is looked at, where the first is 1, by items that were shown at several.

    Whether an item is clicked depends on its position and on how well it fits the query. The latter is the same
    wherever the item is shown, so it cancels out: given how many clicks an item has for a query, their shares of its
    positions depend on how often it was shown at each and on the propensities alone. These are found by maximum
    likelihood. They never rise from one position to the next.

    Parameters
    ----------
    clicks : iterable of PositionedClick
        The log; clicks without a position are ignored.
    shown : mapping
        How often each item was shown for a query at each position, clicked or not. Clicks alone cannot tell a position
        that is seldom looked at from one at which the item seldom stood.

    Examples
    --------
    >>> shown = {("fig", "f", 1): 100, ("fig", "f", 2): 100}
    >>> log = [("fig", "f", 1.0, None, 1)] * 40 + [("fig", "f", 1.0, None, 2)] * 10
    >>> position_propensities([PositionedClick(*one) for one in log], shown).tolist()
    [1.0, 0.25]
    """
    counts, views = Counter[tuple[str, str, int]](), defaultdict[tuple[str, str, int], float](float)
    for query, item, _, _, position in clicks:
        if position is not None:
            counts[query, item, _bounded(position)] += 1
    for (query, item, position), times in shown.items():
        views[query, item, _bounded(position)] += times
    deepest = max((key[2] for key in (*counts, *views)), default=1)
    number: dict[tuple[str, str], int] = {}
    keys = [key for key, times in views.items() if times > 0]
    pairs = np.array([number.setdefault(key[:2], len(number)) for key in keys], np.int64)
    places = np.array([key[2] - 1 for key in keys], np.int64)
    seen = np.array([views[key] for key in keys], np.float64)
    clicked = np.array([counts[key] for key in keys], np.float64)
    found = _most_likely(pairs, places, seen, clicked, deepest)
    weights = np.bincount(places, clicked, minlength=deepest)
    return _never_rising(found / found[0], np.asarray(weights + 1e-9, np.float64))


def unbiased_weights(clicks: Sequence[PositionedClick], propensities: Sequence[float] | Float64Array) -> Float64Array:
    """Return the clicks' weights divided by the propensity of their positions, with the same total.

    Parameters
    ----------
    clicks : sequence of PositionedClick
        The log; a click without a position counts as one at the first.
    propensities : sequence of float
        From `position_propensities`; the last one stands for all positions below.

    Examples
    --------
    >>> first, second = PositionedClick("fig", "f", 1.0, None, 1), PositionedClick("fig", "g", 1.0, None, 2)
    >>> unbiased_weights([first, second], [1.0, 0.25]).tolist()
    [0.4, 1.6]
    """
    known = np.asarray(propensities, np.float64)
    if not len(known) or not np.isfinite(known).all() or known.min() < 0 or known.max() <= 0:
        raise InputError("`propensities` must be numbers above 0, the first for the first position. Got others.")
    places = np.array([(click.position or 1) - 1 for click in clicks], np.int64)
    weights = np.array([click.weight for click in clicks], np.float64)
    corrected = weights / np.maximum(known[np.minimum(places, len(known) - 1)] / known[0], 1 / MAX_CORRECTION)
    return np.asarray(corrected * (weights.sum() / corrected.sum()) if corrected.sum() else corrected, np.float64)


def _bounded(position: int) -> int:
    if position < 1:
        raise InputError(f"A position must be 1 or more. Got {position}.")
    return min(position, MAX_POSITION)


def _most_likely(
    pairs: Int64Array, places: Int64Array, seen: Float64Array, clicked: Float64Array, deepest: int
) -> Float64Array:
    """Return the propensities under which the clicks of each pair fall on its positions as they did.

    Each round raises the likelihood (a minorization, as for the Bradley-Terry model).
    """
    guess: Float64Array = 1 / np.sqrt(np.arange(deepest) + 1.0)
    if not len(pairs):
        return guess
    total = np.bincount(pairs, clicked)
    several = np.bincount(pairs) > 1
    kept = several[pairs] & (total[pairs] > 0)
    if not kept.any():
        return guess
    pairs, places, seen, clicked = pairs[kept], places[kept], seen[kept], clicked[kept]
    won = np.bincount(places, clicked, minlength=deepest)
    told = np.bincount(places, minlength=deepest) > 0
    found = guess.copy()
    for _ in range(MAX_ROUNDS):
        expected = np.bincount(pairs, seen * found[places], minlength=len(total))
        share = np.bincount(places, seen * total[pairs] / expected[pairs], minlength=deepest)
        after = np.where(told, np.maximum(won, 0.5) / np.maximum(share, 1e-12), found)
        change = np.abs(after / after[told].max() - found / found[told].max())[told].max()
        found = after
        if change < TOLERANCE:
            break
    return _filled(found, told)


def _filled(found: Float64Array, told: BoolArray) -> Float64Array:
    """Return propensities in which a position that nothing is known of has that of its nearest neighbor above."""
    places = np.where(told, np.arange(len(found)), -1)
    above = np.maximum.accumulate(places)
    first = int(np.flatnonzero(told)[0])
    return found[np.where(above < 0, first, above)]


def _never_rising(values: Float64Array, weights: Float64Array) -> Float64Array:
    """Return the weighted least-squares fit that never rises (pool adjacent violators), with 1 at the beginning."""
    blocks: list[list[float]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        blocks.append([value, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] < blocks[-1][0]:
            last = blocks.pop()
            both = blocks[-1][1] + last[1]
            blocks[-1] = [(blocks[-1][0] * blocks[-1][1] + last[0] * last[1]) / both, both, blocks[-1][2] + last[2]]
    fitted = np.repeat([block[0] for block in blocks], [int(block[2]) for block in blocks])
    return np.asarray(fitted / fitted[0], np.float64)
