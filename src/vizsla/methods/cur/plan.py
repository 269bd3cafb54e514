"""Plan how a budget is spent: rounds, sampling within a round, and the first round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError, check_choice, check_positive, check_range
from vizsla.methods.cur.estimates import Estimates
from vizsla.methods.cur.factors import Best
from vizsla.typing import Float32Array, Int64Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

SAMPLING_STRATEGIES = ("topk", "softmax", "random")


def choose(
    estimates: Float32Array, free: NDArray[np.bool_], count: int, how: str, epsilon: float, random: np.random.Generator
) -> Int64Array:
    """Return `count` free places, or all that there are; a share of `epsilon` is drawn at random.

    Examples
    --------
    >>> estimates, free = np.array([1.0, 3.0, 2.0], np.float32), np.array([True, False, True])
    >>> choose(estimates, free, 1, "topk", 0.0, np.random.default_rng(0)).tolist()
    [2]
    """
    count = min(count, int(np.count_nonzero(free)))
    blind = count if how == "random" else round(epsilon * count)
    keys = estimates if how != "softmax" else estimates + random.gumbel(size=len(estimates)).astype(np.float32)
    chosen = best_places(np.where(free, keys, -np.inf), count - blind)
    if not blind:
        return chosen
    left = free.copy()
    left[chosen] = False
    return np.concatenate([chosen, drawn(left, blind, random)])


def drawn(free: NDArray[np.bool_], count: int, random: np.random.Generator) -> Int64Array:
    """Return `count` free places at random, or all that there are.

    Examples
    --------
    >>> drawn(np.array([False, True]), 5, np.random.default_rng(0)).tolist()
    [1]
    """
    places = np.flatnonzero(free)
    return random.choice(places, min(max(0, count), len(places)), replace=False)


def best_places(values: Float32Array, count: int) -> Int64Array:
    """Return the places of the largest values, the best first; of equals, the lower places.

    Examples
    --------
    >>> best_places(np.array([1.0, 3.0, 3.0], np.float32), 2).tolist()
    [1, 2]
    """
    if count <= 0:
        return np.zeros(0, np.int64)
    if count < len(values):
        least = np.partition(values, len(values) - count)[len(values) - count]
        places = np.flatnonzero(values >= least)
    else:
        places = np.arange(len(values))
    return places[np.lexsort((places, -values[places]))][:count]


Score = Callable[[list[Int64Array]], list[Float32Array]]
"""Scores a number of items per query, all in one call."""


MAX_STOP = 1e6


@dataclass(frozen=True)
class Plan:
    """How a search spends its calls.

    Parameters
    ----------
    budget : int
        Calls a query.
    rounds : int
        Between rounds the estimates are updated.
    how : {"topk", "softmax", "random"}
        How items are sampled by their estimates.
    epsilon : float
        Share of every later round that is drawn at random.
    first : int, optional
        Calls of the first round; by default all rounds are alike.
    stop : float, optional
        End a query's rounds when its exact score of rank `stop_depth` is above the best estimate that is left by so
        many times the error of its estimates so far.
    stop_depth : int
        How many of a query's best items are to be settled before it ends.

    Examples
    --------
    >>> list(Plan(budget=10, rounds=4).sizes()), list(Plan(budget=10, rounds=2, first=7).sizes())
    ([3, 2, 3, 2], [7, 3])
    """

    budget: int = 100
    rounds: int = 5
    how: str = "topk"
    epsilon: float = 0.0
    first: int | None = None
    stop: float | None = None
    stop_depth: int = 10

    def __post_init__(self) -> None:
        check_positive("budget", self.budget)
        check_positive("rounds", self.rounds)
        check_choice("how", self.how, SAMPLING_STRATEGIES)
        check_range("epsilon", self.epsilon, 0, 1)
        check_positive("stop_depth", self.stop_depth)
        if self.stop is not None:
            check_range("stop", self.stop, 0, MAX_STOP)
        if self.first is not None and not 0 < self.first <= self.budget:
            raise InputError(f"`first` calls must be between 1 and the budget ({self.budget}). Got {self.first}.")

    def sizes(self) -> Iterator[int]:
        """Yield the calls of each round; they add up to the budget."""
        if self.first is None:
            yield from _shares(self.budget, self.rounds)
        else:
            yield self.first
            yield from _shares(self.budget - self.first, max(1, self.rounds - 1))

    def first_size(self) -> int:
        """Return the calls of the first round."""
        return next(self.sizes())

    def largest_size(self) -> int:
        """Return the most calls of a round: of the first, or of the first of the equal rounds after it."""
        return max(islice(self.sizes(), 2))


def _shares(calls: int, rounds: int) -> Iterator[int]:
    rounds = min(rounds, calls)  # further rounds would be empty
    for number in range(rounds):
        yield -(-calls * (number + 1) // rounds) + (-calls * number // rounds)


@dataclass
class Ledger:
    """Purchases of one query: items, exact scores, rounds, and the estimates before."""

    items: list[Int64Array] = field(default_factory=list)
    scores: list[Float32Array] = field(default_factory=list)
    before: list[Float32Array] = field(default_factory=list)

    def enter(self, items: Int64Array, scores: Float32Array, before: Float32Array) -> None:
        """Write down a round."""
        self.items.append(items)
        self.scores.append(scores)
        self.before.append(before)

    def all_items(self) -> Int64Array:
        """Return the items in the order in which they were bought."""
        return np.concatenate([np.zeros(0, np.int64), *self.items])

    def all_scores(self) -> Float32Array:
        """Return the exact scores in the same order."""
        return np.concatenate([np.zeros(0, np.float32), *self.scores])

    def is_settled(self, best_left: float, plan: Plan) -> bool:
        """Say whether no item that is left is likely to belong to the best, by how wrong estimates were so far.

        The error is the root mean square of exact scores minus what was estimated of them before, over all rounds.

        Examples
        --------
        >>> ledger = Ledger()
        >>> ledger.enter(np.array([3, 1]), np.float32([5.0, 4.0]), np.float32([4.9, 4.1]))
        >>> plan = Plan(stop=2.0, stop_depth=2)
        >>> ledger.is_settled(3.7, plan), ledger.is_settled(3.9, plan)
        (True, False)
        """
        scores, before = self.all_scores(), np.concatenate([np.zeros(0, np.float32), *self.before])
        gaps = (scores - before)[np.isfinite(scores) & np.isfinite(before)].astype(np.float64)
        if plan.stop is None or len(scores) < plan.stop_depth or not len(gaps):
            return False
        least = np.partition(scores, len(scores) - plan.stop_depth)[len(scores) - plan.stop_depth]
        return bool(least - best_left > plan.stop * np.sqrt(np.mean(np.square(gaps))))


def spend(
    estimates: Estimates,
    allowed: NDArray[np.bool_],
    firsts: Sequence[Int64Array] | None,
    plan: Plan,
    score: Score,
    randoms: Sequence[np.random.Generator],
) -> list[Ledger]:
    """Spend the plan's calls for each query.

    Parameters
    ----------
    estimates : Estimates
        The estimates of the queries.
    allowed : bool array, queries × items
        Items that may be scored; updated in place.
    firsts : sequence of arrays, optional
        The items of each query's first round, best first, which random ones fill up; without it they are chosen by
        the estimates before any score, where there are some.
    plan : Plan
        Budget, rounds and strategy.
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
            chosen, best_left = _next_round(estimates, allowed, widths, size, plan, randoms)
            if plan.stop is not None:
                chosen = [
                    _unless_settled(one, best, ledger, free, plan)
                    for one, best, ledger, free in zip(chosen, best_left, ledgers, allowed, strict=True)
                ]
        if not any(len(items) for items, _ in chosen):
            break
        bought = [items for items, _ in chosen]
        scores = score(bought)
        for row, ((items, before), exact) in enumerate(zip(chosen, scores, strict=True)):
            allowed[row, items] = False
            ledgers[row].enter(items, exact, before)
        estimates.learn(bought, scores)
    return ledgers


def _unless_settled(
    chosen: tuple[Int64Array, Float32Array], best_left: float, ledger: Ledger, free: NDArray[np.bool_], plan: Plan
) -> tuple[Int64Array, Float32Array]:
    """Return a query's items of a round; or none, and nothing is free any more, where its best are settled."""
    items, believed = chosen
    if not len(items) or not ledger.is_settled(best_left, plan):
        return chosen
    free[:] = False
    return items[:0], believed[:0]


def _next_round(
    estimates: Estimates,
    allowed: NDArray[np.bool_],
    widths: Sequence[int],
    size: int,
    plan: Plan,
    randoms: Sequence[np.random.Generator],
) -> tuple[Best, list[float]]:
    """Return items by their estimates, with these, and the best estimate that is left of each query.

    Where nothing is drawn, only the best are ever looked at.
    """
    if plan.how == "topk" and not round(plan.epsilon * size):
        found = estimates.best(allowed, size)
        return found, [float(values.max(initial=-np.inf)) for _, values in found]
    believed = estimates.scores()
    chosen = [
        choose(row[:width], free[:width], size, plan.how, plan.epsilon, random)
        for row, free, width, random in zip(believed, allowed, widths, randoms, strict=True)
    ]
    best_left = [
        float(row[:width].max(where=free[:width], initial=-np.inf))
        for row, free, width in zip(believed, allowed, widths, strict=True)
    ]
    return [(items, believed[row, items]) for row, items in enumerate(chosen)], best_left


def _first_round(
    estimates: Estimates,
    allowed: NDArray[np.bool_],
    firsts: Sequence[Int64Array],
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


def first_rounds(
    estimates: Estimates, explained: NDArray[np.float64], free: NDArray[np.bool_], size: int
) -> list[Int64Array] | None:
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
        Items that may be scored.
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


def shared_first(
    rankings: Sequence[Float32Array], shares: NDArray[np.float64], free: NDArray[np.bool_], size: int
) -> Int64Array:
    """Return the first items: the retriever furthest behind its share names its best unnamed item.

    Parameters
    ----------
    rankings : sequence of arrays
        A score an item, by each.
    shares : float64 array
        Share of each retriever; 0 for none.
    free : bool array
        Items that may be chosen.
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


def write_plan(writer: ArtifactWriter, plan: Plan, pool_size: int, seed: int) -> None:
    """Record how calls are spent."""
    writer.parameters(budget=plan.budget, rounds=plan.rounds, how=plan.how, epsilon=plan.epsilon)
    writer.parameters(first_calls=plan.first, pool_size=pool_size, seed=seed)
    if plan.stop is not None:
        writer.parameters(stop=plan.stop, stop_depth=plan.stop_depth)


def read_plan(reader: ArtifactReader) -> tuple[Plan, int, int]:
    """Return the plan, the pool's size and the seed."""
    names = {"budget": int, "rounds": int, "how": str, "epsilon": float}
    given = {name: reader.parameter(name, kind) for name, kind in names.items()}
    ends = {"stop": reader.optional("stop", float, None), "stop_depth": reader.optional("stop_depth", int, 10)}
    plan = Plan(**given, first=reader.parameter("first_calls", (int, type(None))), **ends)
    return plan, reader.parameter("pool_size", int), reader.parameter("seed", int)
