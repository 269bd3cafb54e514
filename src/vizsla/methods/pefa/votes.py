"""Votes: what the past queries nearest to a query say about items (Eq. 5)."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates
from vizsla.clicks.log import ClickLog
from vizsla.errors import InputError, check_choice, check_positive

Values = NDArray[np.float64]
Whole = NDArray[np.int64]
HOW = ("mean", "max")


@dataclass(frozen=True)
class XlSettings:
    """The numbers of Eq. 6.

    Parameters
    ----------
    weight : float
        λ, above 0: votes count (1 - λ) / λ times, which ranks like the paper's λ · base + (1 - λ) · votes.
    neighbours : int
        How many past queries vote.
    votes : {"mean", "max"}
        An item's votes are added up and divided by `neighbours` as in the paper, or only the strongest counts.
    near : float
        Similarity up to which a past query has no say; 0 in the paper.
    scale : float
        What a full vote is worth in the base's scores; 1 in the paper.
    level : float
        Votes that an item with clicks must get to keep its base score: who gets fewer steps back, so that items
        without clicks compete fairly. 0 in the paper, where votes can only lift.
    """

    weight: float
    neighbours: int
    votes: str = "mean"
    near: float = 0.0
    scale: float = 1.0
    level: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.weight <= 1:
            raise InputError(f"`weight` must be above 0 and at most 1. Got {self.weight!r}.")
        check_positive("neighbours", self.neighbours)
        check_choice("votes", self.votes, HOW)
        if not (isfinite(self.near) and self.near < 1 and isfinite(self.scale) and self.scale >= 0):
            raise InputError(f"`near` must be below 1 and `scale` not negative. Got {self.near!r} and {self.scale!r}.")
        if not (isfinite(self.level) and self.level >= 0):
            raise InputError(f"`level` must be a number from 0 on. Got {self.level!r}.")

    @property
    def worth(self) -> float:
        """What a vote of 1 adds to the base's score."""
        return (1 - self.weight) / self.weight * self.scale


class Ballot(NamedTuple):
    """Single votes: for row `rows[i]`, past query `queries[i]` at `similar[i]` names `items[i]` with `share[i]`."""

    rows: Whole
    queries: Whole
    ranks: Whole
    items: Whole
    similar: Values
    share: Values


def ballot(neighbours: Candidates, log: ClickLog) -> Ballot:
    """Return all votes of the neighbours found; a past query's strongest item has share 1."""
    found = neighbours.items.astype(np.int64)
    counts = log.offsets[found + 1] - log.offsets[found]
    at = np.repeat(np.arange(len(found)), counts)
    ends = np.cumsum(counts)
    clicks = np.repeat(log.offsets[found], counts) + np.arange(len(at)) - np.repeat(ends - counts, counts)
    rows = np.repeat(np.arange(len(neighbours)), np.diff(neighbours.offsets))
    ranks = np.arange(len(found)) - np.repeat(neighbours.offsets[:-1], np.diff(neighbours.offsets))
    share = log.units[clicks] / log.strongest[found[at]]
    similar = neighbours._required_scores().astype(np.float64)[at]
    return Ballot(rows[at], found[at], ranks[at], log.items[clicks].astype(np.int64), similar, share)


def counted(votes: Ballot, width: int, settings: Any) -> tuple[Whole, Values]:
    """Return row · width + item of every item with a say, ascending, and its votes added up or the strongest."""
    said = (votes.ranks < settings.neighbours) & (votes.similar > settings.near)
    keys, values = (votes.rows * width + votes.items)[said], (votes.similar[said] - settings.near) * votes.share[said]
    # By past query within an item, so that sums are made in one order.
    order = np.lexsort((votes.queries[said], keys))
    keys, values = keys[order], values[order]
    firsts = np.flatnonzero(np.r_[True, np.diff(keys) != 0]) if len(keys) else np.zeros(0, np.int64)
    if not len(firsts):
        return keys, values
    if settings.votes == "max":
        return keys[firsts], np.maximum.reduceat(values, firsts)
    return keys[firsts], np.add.reduceat(values, firsts) / settings.neighbours
