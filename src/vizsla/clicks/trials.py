"""Splits of a click log to choose settings by, with the share of cold items that search will meet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.hold_out import HeldOut, hold_out
from vizsla.clicks.log import ClickLog
from vizsla.errors import InputError, check_range

COLD = 0.5
"""The share of queries to come whose items nobody clicked yet. A log cannot tell it, because people click on what they
are shown. Gains are linear in it, so if every share is as likely as any other, the best choice is that for one half."""
HELD_OUT = 0.2
MOST_QUERIES = 4000
SPLITS = 3
FEWEST = 5
MEASURE = "MRR@10"
DEPTH = 10


@dataclass(frozen=True)
class Split:
    """One split: the log that is left, and the queries that are held out with their items."""

    train: ClickLog
    held: NDArray[np.int64]
    """Query numbers of the whole log: cold ones first."""
    cold: int
    """How many of them are cold."""


def splits(log: ClickLog, *, cold: float, seed: int) -> Iterator[Split]:
    """Yield a few splits; a log that cannot give a share of cold or warm queries gives what it can."""
    check_range("cold", cold, 0, 1)
    if too_few(log):
        wanted = f"at least {FEWEST} past queries"
        raise InputError(f"To choose by, there must be {wanted}. Got {len(log)}: give the numbers instead.")
    queries = max(1, round(min(HELD_OUT * len(log), MOST_QUERIES)))
    for number in range(SPLITS):
        found = _held(log, queries, cold, seed + number)
        held = np.concatenate([found.cold, found.warm])
        kept = ~np.isin(log.rows, held) & ~found.cold_items[log.items]
        yield Split(log.only(kept), held, len(found.cold))


def too_few(log: ClickLog) -> bool:
    """Return whether there are too few past queries to choose anything by."""
    return len(log) < FEWEST


def best_trial(trials: Sequence[Mapping[str, Any]]) -> int:
    """Return the best trial over all, among those that lose to the base neither on warm nor on cold queries.

    A gain for one kind of query may hide a loss for the other, and nobody knows how many of each will come. The base
    is the trial with weight 1; without one among the trials the best over all is taken. Of equals, the first.

    Examples
    --------
    >>> base = {"weight": 1.0, "all": 0.3, "warm": 0.3, "cold": 0.3}
    >>> best_trial([base, {"weight": 0.1, "all": 0.4, "warm": 0.6, "cold": 0.2}])
    0
    """
    base = next((trial for trial in trials if trial["weight"] == 1 and "below" not in trial), None)

    def loses(trial: Mapping[str, Any]) -> bool:
        return base is not None and (trial["warm"] < base["warm"] or trial["cold"] < base["cold"])

    return max(range(len(trials)), key=lambda at: (not loses(trials[at]), trials[at]["all"]))


def reciprocal_ranks(scores: NDArray[np.float32], relevant: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return 1 / rank of each row's first relevant column, 0 beyond rank 10; ties count against it.

    Examples
    --------
    >>> reciprocal_ranks(np.array([[3, 2, 2, 1.0]]), np.array([[False, True, False, True]])).tolist()
    [0.3333333333333333]
    """
    best = np.where(relevant, scores, -np.inf).max(axis=1, initial=-np.inf)[:, None]
    ranks = 1 + ((scores >= best) & ~relevant).sum(axis=1)
    found = np.isfinite(best[:, 0]) & (ranks <= DEPTH)
    return np.where(found, 1 / ranks, 0.0)


def _held(log: ClickLog, queries: int, cold: float, seed: int) -> HeldOut:
    matrix = log.matrix
    for share in (cold, 0.0, 1.0):
        try:
            return hold_out(matrix, queries=queries, cold=share, seed=seed)
        except InputError:
            continue
    raise InputError("The clicks are too few to hold any out: give the weight instead.")
