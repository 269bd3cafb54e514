"""Rounds: a batch of queries spends its calls together, so that the scorer sees large batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError, check_choice, check_positive, check_range
from vizsla.methods.cur.choose import HOW, choose, drawn
from vizsla.methods.cur.estimates import Estimates, Floats, Items
from vizsla.methods.cur.factors import Best

Score = Callable[[list[Items]], list[Floats]]
"""Scores so many items of each query, all in one call."""


@dataclass(frozen=True)
class Plan:
    """How calls are spent.

    Parameters
    ----------
    budget : int
        Calls a query.
    rounds : int
        Between rounds the estimates are made anew.
    how : {"topk", "softmax", "random"}
        How items are chosen by their estimates.
    epsilon : float
        Share of every later round that is drawn at random.
    first : int, optional
        Calls of the first round; by default all rounds are alike.

    Examples
    --------
    >>> Plan(budget=10, rounds=4).sizes(), Plan(budget=10, rounds=2, first=7).sizes()
    ([3, 2, 3, 2], [7, 3])
    """

    budget: int = 100
    rounds: int = 5
    how: str = "topk"
    epsilon: float = 0.0
    first: int | None = None

    def __post_init__(self) -> None:
        check_positive("budget", self.budget)
        check_positive("rounds", self.rounds)
        check_choice("how", self.how, HOW)
        check_range("epsilon", self.epsilon, 0, 1)
        if self.first is not None and not 0 < self.first <= self.budget:
            raise InputError(f"`first` calls must be between 1 and the budget ({self.budget}). Got {self.first}.")

    def sizes(self) -> list[int]:
        """Return the calls of each round; they add up to the budget."""
        if self.first is None:
            return _shares(self.budget, self.rounds)
        return [self.first, *_shares(self.budget - self.first, max(1, self.rounds - 1))]


def _shares(calls: int, rounds: int) -> list[int]:
    edges = [-(-calls * number // rounds) for number in range(rounds + 1)]
    return [end - start for start, end in pairwise(edges) if end > start]


@dataclass
class Ledger:
    """What was bought for one query: items, exact scores, in which round, and what was estimated before."""

    items: list[Items] = field(default_factory=list)
    scores: list[Floats] = field(default_factory=list)
    before: list[Floats] = field(default_factory=list)

    def enter(self, items: Items, scores: Floats, before: Floats) -> None:
        """Write down a round."""
        self.items.append(items)
        self.scores.append(scores)
        self.before.append(before)

    def all_items(self) -> Items:
        """Return the items in the order in which they were bought."""
        return np.concatenate([np.zeros(0, np.int64), *self.items])

    def all_scores(self) -> Floats:
        """Return the exact scores in the same order."""
        return np.concatenate([np.zeros(0, np.float32), *self.scores])


def spend(
    estimates: Estimates,
    allowed: NDArray[np.bool_],
    firsts: Sequence[Items] | None,
    plan: Plan,
    score: Score,
    randoms: Sequence[np.random.Generator],
) -> list[Ledger]:
    """Spend the plan's calls for each query.

    Parameters
    ----------
    estimates : Estimates
        Of the queries.
    allowed : bool array, queries × items
        What may be scored; it is changed.
    firsts : sequence of arrays, optional
        The items of each query's first round, best first, which random ones fill up; without it they are chosen by
        the estimates before any score, where there are some.
    plan : Plan
        How much and how.
    score : callable
        Scores items.
    randoms : sequence of generators
        One a query, so that no query's answer depends on its company.
    """
    ledgers = [Ledger() for _ in randoms]
    widths = [int(row.nonzero()[0].max(initial=-1)) + 1 for row in allowed]  # a pool's row is filled up to the longest
    for number, size in enumerate(plan.sizes()):
        if firsts is not None and not number:
            chosen = _first_round(estimates, allowed, firsts, size, randoms)
        else:
            chosen = _next_round(estimates, allowed, widths, size, plan, randoms)
        if not any(len(items) for items, _ in chosen):
            break
        bought = [items for items, _ in chosen]
        scores = score(bought)
        for row, ((items, before), exact) in enumerate(zip(chosen, scores, strict=True)):
            allowed[row, items] = False
            ledgers[row].enter(items, exact, before)
        estimates.learn(bought, scores)
    return ledgers


def _next_round(
    estimates: Estimates,
    allowed: NDArray[np.bool_],
    widths: Sequence[int],
    size: int,
    plan: Plan,
    randoms: Sequence[np.random.Generator],
) -> Best:
    """Return items by their estimates, and these; where nothing is drawn, only the best are ever looked at."""
    if plan.how == "topk" and not round(plan.epsilon * size):
        return estimates.best(allowed, size)
    believed = estimates.scores()
    chosen = [
        choose(row[:width], free[:width], size, plan.how, plan.epsilon, random)
        for row, free, width, random in zip(believed, allowed, widths, randoms, strict=True)
    ]
    return [(items, believed[row, items]) for row, items in enumerate(chosen)]


def _first_round(
    estimates: Estimates,
    allowed: NDArray[np.bool_],
    firsts: Sequence[Items],
    size: int,
    randoms: Sequence[np.random.Generator],
) -> Best:
    """Return the given items that are allowed, filled up at random, and what was believed of them."""
    found = []
    for row, (first, random) in enumerate(zip(firsts, randoms, strict=True)):
        kept = first[allowed[row, first]][:size].astype(np.int64)
        left = allowed[row].copy()
        left[kept] = False
        items = np.concatenate([kept, drawn(left, size - len(kept), random)])
        found.append((items, estimates.prior_of(row, items)))
    return found
