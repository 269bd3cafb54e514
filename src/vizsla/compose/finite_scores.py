"""Infinite scores: where they mean something, and where they are refused."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates, Scores
from vizsla.errors import InputError
from vizsla.queries import Queries


def check_finite(
    queries: Queries, pairs: Candidates, scores: Scores, part: object, purpose: str, remedy: str = "clip them"
) -> None:
    """Raise if a score is infinite: an infinite end, mean or spread makes no scale.

    Examples
    --------
    >>> pairs = Candidates.from_dict({"q": {"a": 1.0, "b": 0.0}})
    >>> check_finite(Queries(["fig"]), pairs, np.float32([np.inf, 0]), "mine", "to be weighed")
    Traceback (most recent call last):
    vizsla.errors.InputError: Scores must be finite to be weighed. Got inf for 'a' and 'fig' by mine: clip them.
    """
    if not np.isfinite(scores).all():
        place = int(np.argmin(np.isfinite(scores)))
        got = f"{scores[place]} for {_pair(queries, pairs, place)} by {part}"
        raise InputError(f"Scores must be finite {purpose}. Got {got}: {remedy}.")


def check_addable(queries: Queries, pairs: Candidates, totals: NDArray[np.floating]) -> None:
    """Raise if a sum is no number: infinity less infinity, or 0 times infinity."""
    if np.isnan(totals).any():
        _refuse(_pair(queries, pairs, int(np.argmax(np.isnan(totals)))))


class SeenInfinities:
    """Infinite scores that the parts of a sum gave, to find out whether two of them meet.

    Most sums see none, and then this costs a look at every score.

    Parameters
    ----------
    queries : Queries
        Whose items are scored.
    """

    def __init__(self, queries: Queries):
        self._queries = queries
        self._signs: dict[tuple[int, int], float] = {}

    def look(self, pairs: Candidates, scores: Scores, weight: float) -> None:
        """Raise if a score cannot be added to what was seen."""
        infinite = np.flatnonzero(np.isinf(scores))
        if not len(infinite):
            return
        rows = np.searchsorted(pairs.offsets, infinite, side="right") - 1
        for place, row in zip(infinite.tolist(), rows.tolist(), strict=True):
            score = float(scores[place])
            if not weight or self._signs.setdefault((row, int(pairs.items[place])), score) != score:
                _refuse(_pair(self._queries, pairs, place))


def _refuse(what: str) -> None:
    raise InputError(
        f"Scores to add must add up to a number. Got infinite ones of both signs, or with a weight of 0, for {what}: "
        "clip them, or leave out the part with weight 0."
    )


def _pair(queries: Queries, pairs: Candidates, place: int) -> str:
    """Name the item and the query of a pair."""
    row = int(np.searchsorted(pairs.offsets, place, side="right")) - 1
    number = int(pairs.items[place])
    item: object = number if pairs.catalogue is None else pairs.catalogue[number]
    return f"{item!r} and {queries.texts[row]!r:.100}"
