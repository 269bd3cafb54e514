"""Trace: what a budgeted search bought and believed for one query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vizsla.explanation import Explanation
from vizsla.methods.cur.pool import Pool
from vizsla.methods.cur.rounds import Ledger
from vizsla.strings import Strings

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Trace:
    """One query's search.

    Parameters
    ----------
    ids : Strings
        The catalogue.
    items : int array
        What was bought, in that order, by item number.
    rounds : int array
        In which round each was bought, from 1.
    exact : float32 array
        Exact scores.
    before : float32 array
        What was estimated right before; NaN where nothing was known.
    pool : int array
        The items that were considered.
    estimates : float32 array
        The final estimates of these.
    prior : float32 array, optional
        What the retrievers alone say of these.
    """

    ids: Strings
    items: NDArray[np.int64]
    rounds: NDArray[np.int64]
    exact: Floats
    before: Floats
    pool: NDArray[np.int64]
    estimates: Floats
    prior: Floats | None

    @classmethod
    def of(cls, pool: Pool, ledger: Ledger, estimates: Floats, prior: Floats | None, ids: Strings) -> Trace:
        """Gather what a ledger and the last estimates say."""
        rounds = np.repeat(np.arange(1, len(ledger.items) + 1), [len(items) for items in ledger.items])
        own = np.arange(pool.count) if pool.numbers is None else pool.numbers[0]
        before = np.concatenate([np.zeros(0, np.float32), *ledger.before])
        known = None if prior is None else prior[: len(own)]
        bought = pool.items(0, ledger.all_items())
        return cls(ids, bought, rounds, ledger.all_scores(), before, own, estimates[: len(own)], known)


def explained(trace: Trace, item: int, score: float, scorer: str, calls: int) -> Explanation:
    """Say in which round an item was found, what was believed of it, and what the exact score corrected."""
    scored = len(trace.items)
    spent = f"{scored:,} items scored for this query, " + (
        f"{calls:,} calls" if calls == scored else f"{calls:,} of them by new calls"
    )
    at, where = np.flatnonzero(trace.items == item), np.flatnonzero(trace.pool == item)
    prior = np.nan if trace.prior is None else _at(trace.prior, where)
    if not len(at):
        why = "not found within the budget" if len(where) else "not in the pool"
        reason = f"estimate of the score by {scorer}, {why}; {spent}"
        return Explanation(score, reason, _told(prior, score))
    found, estimate = f"found in round {trace.rounds[at[0]]} of {trace.rounds.max()}", float(trace.before[at[0]])
    reason = f"score by {scorer}, {found}; {spent}"
    if np.isnan(estimate):
        return Explanation(score, reason)
    guess = Explanation(estimate, "estimate before the exact score", _told(prior, estimate))
    return Explanation(score, reason, (guess, Explanation(score - estimate, "correction by the exact score")))


def _told(prior: float, estimate: float) -> tuple[Explanation, ...]:
    """Return what an estimate is made of, where retrievers told anything."""
    if np.isnan(prior):
        return ()
    learned = Explanation(estimate - prior, "residual: learned from items scored before")
    return (Explanation(prior, "prior: what the retrievers' scores tell"), learned)


def _at(values: Floats, where: NDArray[np.int64]) -> float:
    return float(values[where[0]]) if len(where) else float("nan")
