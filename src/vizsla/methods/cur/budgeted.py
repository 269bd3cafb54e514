"""BudgetedSearch: buy scores round by round, estimate the rest, and return the best."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.base.scorer import Scorer, check_uncut, unwrapped
from vizsla.compose.budgeted import BudgetedRetriever, PurchasedScores
from vizsla.compose.id_alignment import ReindexedPart
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.core.validation import validate_args
from vizsla.data.filter import Filter
from vizsla.errors import CompositionError, InputError, check_choice, check_positive
from vizsla.methods.cur.components import check_cheap, found_by
from vizsla.methods.cur.estimates import Estimates, FinalWeights
from vizsla.methods.cur.factors import Factors
from vizsla.methods.cur.plan import Ledger, Plan, spend
from vizsla.typing import Float32Array, Int64Array

if TYPE_CHECKING:
    from vizsla.data.dataset import Dataset


@dataclass(frozen=True)
class ItemPool:
    """Items of each query's pool by place; without pools a place is the item number.

    Parameters
    ----------
    queries : int
        How many there are.
    count : int
        Items of the catalog.
    numbers : list of arrays, optional
        Each query's items, ascending; None for all.
    """

    queries: int
    count: int
    numbers: list[Int64Array] | None = None

    @property
    def width(self) -> int:
        """The most items of a query."""
        return self.count if self.numbers is None else max(map(len, self.numbers), default=0)

    def items(self, at: int, places: Int64Array) -> Int64Array:
        """Return item numbers by places."""
        return places if self.numbers is None else self.numbers[at][places]

    def places(self, at: int, items: NDArray[np.integer]) -> Int64Array:
        """Return the places of items, without those that are not in the pool."""
        if self.numbers is None:
            return items.astype(np.int64)
        own = self.numbers[at]
        where = np.minimum(np.searchsorted(own, items), max(0, len(own) - 1))
        return where[own[where] == items] if len(own) else np.zeros(0, np.int64)

    def allowed(self, filter: Filter | None) -> NDArray[np.bool_]:
        """Return which places may be scored, queries × places."""
        if self.numbers is not None:
            return np.arange(self.width) < np.array([len(own) for own in self.numbers])[:, None]
        mask = np.ones(self.count, np.bool_) if filter is None else filter.mask
        return np.broadcast_to(mask, (self.queries, self.count)).copy()

    def padded(self, at: int) -> Int64Array:
        """Return a query's items, filled up to the common width with its first one."""
        own = np.arange(self.count) if self.numbers is None else self.numbers[at]
        return np.concatenate([own, np.full(self.width - len(own), own[0] if len(own) else 0, np.int64)])


@dataclass(frozen=True)
class Trace:
    """One query's search.

    Parameters
    ----------
    ids : Strings
        The catalog.
    items : int array
        Purchased items, in the order of purchase, by item number.
    rounds : int array
        In which round each was bought, from 1.
    exact : float32 array
        Exact scores.
    before : float32 array
        Estimates right before the purchase; NaN where there was none.
    pool : int array
        The items that were considered.
    estimates : float32 array
        The final estimates of these.
    prior : float32 array, optional
        Estimates by the retrievers alone.
    """

    ids: Strings
    items: NDArray[np.int64]
    rounds: NDArray[np.int64]
    exact: Float32Array
    before: Float32Array
    pool: NDArray[np.int64]
    estimates: Float32Array
    prior: Float32Array | None

    @classmethod
    def of(
        cls, pool: ItemPool, ledger: Ledger, estimates: Float32Array, prior: Float32Array | None, ids: Strings
    ) -> Trace:
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


def _at(values: Float32Array, where: NDArray[np.int64]) -> float:
    return float(values[where[0]]) if len(where) else float("nan")


class Batch(NamedTuple):
    """Purchases of some queries, and the cost of the priors and the scorer."""

    pool: ItemPool
    ledgers: list[Ledger]
    estimates: Estimates
    cheap: Stats
    paid: Stats


class Purchase(PurchasedScores):
    """Exact scores of purchased items, and the weights that estimate the rest.

    Parameters
    ----------
    found : Candidates
        The purchased items, ranked.
    settled : FinalWeights
        The weights of every query when its budget was spent.
    calls : int
        Calls that were made.
    only : Batch or None
        A trace of all rounds, for a call with one query.
    """

    def __init__(self, found: Candidates, settled: FinalWeights, calls: int, only: Batch | None):
        super().__init__(found)
        self.settled, self.calls, self.only = settled, calls, only

    @classmethod
    def of(cls, batches: Iterable[Batch], items: Strings, allowed: int) -> Purchase:
        """Gather batches of a call that may buy `allowed` items; each is let go before the next one begins."""
        rows: list[tuple[Int64Array, Float32Array]] = []
        settled, cheap, paid, only = [], Stats(exact=True), Stats(), None
        for batch in batches:
            rows += [(batch.pool.items(at, one.all_items()), one.all_scores()) for at, one in enumerate(batch.ledgers)]
            settled.append(batch.estimates.settled())
            cheap, paid, only = cheap + batch.cheap, paid + batch.paid, batch if len(rows) == 1 else None
        complete = all(len(numbers) == allowed for numbers, _ in rows)
        found = _ranked(rows, items, (cheap + paid).with_exact(complete))
        return cls(found, FinalWeights.joined(settled), paid.model_calls + paid.scored, only)


def _ranked(rows: Sequence[tuple[Int64Array, Float32Array]], items: Strings, stats: Stats) -> Candidates:
    offsets = np.cumsum([0, *(len(numbers) for numbers, _ in rows)], dtype=np.int64)
    numbers = np.concatenate([np.zeros(0, np.int32), *(some.astype(np.int32) for some, _ in rows)])
    scores = np.concatenate([np.zeros(0, np.float32), *(some for _, some in rows)])
    return Candidates.unchecked(offsets, numbers, None, items, Stats()).with_scores(PairScores(scores, stats))


MAX_NUMBERS_HELD = 1 << 25
"""Numbers that are held at a time for queries that advance together."""
MAX_RIDGE = 1e6
PLANNED = ("rounds", "how", "epsilon", "stop")
"""Settings of a plan that can be changed without fitting anything again."""


class BudgetedSearch(BudgetedRetriever):
    """Finds the best items of a whole catalog under an expensive scorer, with at most `budget` calls a query.

    Answers are ranked by exact scores. All queries of a call advance together, in batches, so the scorer gets a
    round's pairs of many queries at once. A pair is scored once. Put a ScoreCache around the scorer, and what was paid
    for outlives a failure, Ctrl-C and the process.

    The budget holds in any composition. Asked to score items, it searches, and what it has not bought then has the
    last estimate as its score; ask `scorer` for exact ones. `exact` scores every item, whatever the budget.

    Parameters
    ----------
    scorer : Scorer
        The expensive one.
    items : Strings
        The catalog.
    plan : Plan
        How calls are spent.
    pool : Retriever, optional
        Only its best `pool_size` items of a query are considered.
    pool_size : int
        How many these are.
    seed : int
        Fixes what is drawn at random, together with the query's text.
    """

    _aligned_priors: Sequence[ReindexedPart[Retriever]] = ()
    """The retrievers whose scores are features of the estimates."""

    def __init__(
        self, scorer: Scorer, items: Strings, plan: Plan, *, pool: Retriever | None, pool_size: int, seed: int
    ):
        if not isinstance(scorer, Scorer) or scorer.scale == "none":
            raise CompositionError(f"`scorer` must be a Scorer that gives scores. Got {type(scorer).__name__}.")
        check_uncut(scorer)
        check_cheap("pool", pool)
        self.scorer, self.plan, self.pool, self.seed = scorer, plan, pool, seed
        self.pool_size = check_positive("pool_size", pool_size)
        self.scale, self.max_score, self.model_calls = scorer.scale, scorer.max_score, scorer.model_calls
        self._items, self._aligned = items, ReindexedPart(scorer, items)
        self._aligned_pool = None if pool is None else ReindexedPart(pool, items)

    @property
    def items(self) -> Strings:
        """The ids of all items."""
        return self._items

    @property
    def budget(self) -> int:
        """Calls a query."""
        return self.plan.budget

    def with_budget(self, budget: int) -> Self:
        """Return the same search with another budget; it shares all arrays."""
        other, first = copy(self), self.plan.first
        if first is not None:
            first = max(1, round(first * check_positive("budget", budget) / self.plan.budget))
        other.plan = replace(self.plan, budget=budget, first=first)
        return self._kept(other, budget=budget)

    def with_plan(self, **changes: Any) -> Self:
        """Return the same search that spends its calls otherwise; it shares all arrays, and nothing is fitted again.

        Parameters
        ----------
        **changes
            `rounds`, `how`, `epsilon` or `stop`, as the function that built it takes them.
        """
        for name in changes:
            check_choice("changes", name, PLANNED)
        other = copy(self)
        other.plan = replace(self.plan, **changes)
        return self._kept(other, **changes)

    @property
    def effort(self) -> int:
        """The budget."""
        return self.plan.budget

    def with_effort(self, effort: int) -> Self:
        """Return the same search with another budget."""
        return self.with_budget(effort)

    def refit_on(self, dataset: Dataset, *, threads: int = 1) -> Self:
        """Return itself, if none of its parts has learned from clicks; otherwise it raises."""
        for part in self._parts():
            if isinstance(part, Retriever) and part.refit_on(dataset, threads=threads) is not part:
                remedy = "Give a function that builds the whole from a dataset."
                raise InputError(f"A part must have learned from no clicks, to stay. Got {part!r}. {remedy}")
        return self

    def _parts(self) -> list[Any]:
        """Return the scorer, and what retrievers there are."""
        return [unwrapped(self.scorer), self.pool]

    def _live_parts(self) -> list[Any]:
        return self._parts()

    @validate_args
    def trace(self, query: str, *, threads: int = 1) -> Trace:
        """Search, and return all that was bought and believed: rounds, exact scores, and estimates of all items."""
        asked = Queries.of(query)
        return self._trace(asked, None, check_positive("threads", threads))[0]

    @abstractmethod
    def _estimates(self, queries: Queries, rows: range, pool: ItemPool, threads: int) -> tuple[Estimates, Stats]:
        """Return the estimates of some queries before any of their scores is known, and what that cost."""

    @abstractmethod
    def _held(self) -> int:
        """Return how many numbers a query's estimates hold beside those of the items."""

    @abstractmethod
    def _firsts(
        self, queries: Queries, rows: range, pool: ItemPool, estimates: Estimates, filter: Filter | None, threads: int
    ) -> tuple[list[Int64Array] | None, Stats]:
        """Return the items of each query's first round, by the pool's places, or None to go by the estimates."""

    @property
    @abstractmethod
    def _columns(self) -> Factors:
        """The factors that estimates are made of, a column an item."""

    def _buy(self, queries: Queries, filter: Filter | None, threads: int) -> Purchase:
        batches = (self._spent(queries, rows, filter, threads) for rows in self._batches(len(queries)))
        return Purchase.of(batches, self._items, len(self._items) if filter is None else filter.count)

    def _guess(self, queries: Queries, bought: Purchase, pairs: Candidates, threads: int) -> PairScores:  # type: ignore[override]
        guessed = bought.settled.pairs(self._columns, pairs)
        stats = Stats()
        for at, prior in enumerate(self._aligned_priors):
            scored = prior.score(queries, pairs, None, threads)
            guessed = guessed + bought.settled.expected(at, pairs, scored.scores)
            stats = stats + scored.stats
        return PairScores(guessed.astype(np.float32), stats)

    def _score_all(self, queries: Queries, everything: Candidates, filter: Filter | None, threads: int) -> PairScores:
        return self._aligned.score(queries, everything, filter, threads)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        trace, calls = self._trace(queries, filter, 1)
        return explained(trace, item, self._score_one(queries, item, filter), str(unwrapped(self.scorer)), calls)

    def _trace(self, queries: Queries, filter: Filter | None, threads: int) -> tuple[Trace, int]:
        """Search for one query; return what happened and the calls that were made."""
        bought: Any = self._bought(queries, filter, threads)
        pool, ledger, estimates = bought.only.pool, bought.only.ledgers[0], bought.only.estimates
        prior = estimates.prior()
        known = None if prior is None else prior[0]
        return Trace.of(pool, ledger, estimates.scores()[0], known, self._items), bought.calls

    def _batches(self, queries: int) -> list[range]:
        width = len(self._items) if self.pool is None else min(self.pool_size, len(self._items))
        size = max(16, MAX_NUMBERS_HELD // max(1, width + self._held()) // 16 * 16)
        return [range(start, min(start + size, queries)) for start in range(0, queries, size)]

    def _pool(self, queries: Queries, rows: range, filter: Filter | None, threads: int) -> tuple[ItemPool, Stats]:
        if self._aligned_pool is None:
            return ItemPool(len(rows), len(self._items)), Stats(exact=True)
        found, stats = found_by(self._aligned_pool, self.pool_size, queries, filter, threads)
        numbers = [np.sort(found.row(row)[0]).astype(np.int64) for row in rows]
        return ItemPool(len(rows), len(self._items), numbers), stats

    def _spent(self, queries: Queries, rows: range, filter: Filter | None, threads: int) -> Batch:
        pool, costs = self._pool(queries, rows, filter, threads)
        estimates, cost = self._estimates(queries, rows, pool, threads)
        firsts, more = self._firsts(queries, rows, pool, estimates, filter, threads)
        bill = _Bill(self._aligned, queries, rows, pool, threads)
        randoms = [np.random.default_rng([self.seed, *queries.texts[row].encode("utf-8", "replace")]) for row in rows]
        ledgers = spend(estimates, pool.allowed(filter), firsts, self.plan, bill.score, randoms)
        return Batch(pool, ledgers, estimates, costs + cost + more, bill.stats)


class _Bill:
    """Scores pairs, and sums their cost."""

    def __init__(self, scorer: ReindexedPart[Any], queries: Queries, rows: range, pool: ItemPool, threads: int):
        self._scorer, self._queries, self._rows, self._pool, self._threads = scorer, queries, rows, pool, threads
        self.stats = Stats()

    def score(self, chosen: list[Int64Array]) -> list[Float32Array]:
        items = [self._pool.items(at, places).astype(np.int32) for at, places in enumerate(chosen)]
        # Queries of other batches keep their places with empty rows, so that limits for each query see all of a call.
        counts = np.zeros(len(self._queries), np.int64)
        counts[self._rows.start : self._rows.stop] = [len(some) for some in items]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        pairs = Candidates.unchecked(offsets, np.concatenate(items), None, self._scorer.merged, Stats())
        scored = self._scorer.score(self._queries, pairs, None, self._threads)
        self.stats = self.stats + scored.stats
        bounds = offsets[self._rows.start : self._rows.stop + 1]
        return [scored.scores[start:end] for start, end in pairwise(bounds)]
