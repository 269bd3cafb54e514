"""Votes: what the past queries nearest to a query say about items (Eq. 5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.candidates import Candidates, Numbers, Offsets
from vizsla.clicks.log import ClickLog
from vizsla.filter import Filter
from vizsla.methods.pefa.xl_settings import XlSettings

Values = NDArray[np.float64]


class Votes(NamedTuple):
    """A row a query: the items with votes, ascending, and their votes."""

    offsets: Offsets
    items: Numbers
    values: Values


class VoteCounter:
    """Counts the votes of past queries; the log is checked once.

    Parameters
    ----------
    log : ClickLog
        What was clicked for the past queries.

    Examples
    --------
    >>> from vizsla.strings import Strings
    >>> log = ClickLog.of([("a", "x", 2), ("a", "y", 1)], Strings.of(["x", "y"]), lambda texts: np.eye(1))
    >>> near = Candidates([0, 1], [0], [0.5])
    >>> VoteCounter(log).count(near, XlSettings(weight=0.5, neighbours=1)).values.tolist()
    [0.5, 0.25]
    """

    def __init__(self, log: ClickLog):
        self._clicks = _native.ClickVotes(log.offsets, log.items, log.units, log.width)

    def count(self, neighbours: Candidates, settings: XlSettings, filter: Filter | None = None) -> Votes:
        """Return what these past queries, nearest first, say about items; a query's strongest item has share 1."""
        arrays = self._clicks.count(
            neighbours.offsets, neighbours.items, neighbours._required_scores(),
            settings.neighbours, settings.near, settings.votes == "max", None if filter is None else filter.mask,
        )  # fmt: skip
        return Votes(*map(np.frombuffer, arrays, (np.int64, np.int32, np.float64)))
