"""BudgetedSearch: what searches under a budget share: batches, pools, the final ranking by exact scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla.candidates import Candidates
from vizsla.checked import checked
from vizsla.compose.catalogues import Aligned
from vizsla.compose.spender import Spender
from vizsla.errors import CompositionError, InputError, check_positive
from vizsla.explanation import Explanation
from vizsla.filter import Filter
from vizsla.methods.cur.estimates import Estimates, Floats, Items
from vizsla.methods.cur.factors import Factors
from vizsla.methods.cur.parts import check_cheap, found_by
from vizsla.methods.cur.pool import Pool
from vizsla.methods.cur.purchase import Batch, Purchase
from vizsla.methods.cur.rounds import Plan, spend
from vizsla.methods.cur.trace import Trace, explained
from vizsla.queries import Queries
from vizsla.retriever import Retriever
from vizsla.scored import Scored
from vizsla.scorer import Scorer, check_uncut, unwrapped
from vizsla.stats import Stats
from vizsla.strings import Strings

if TYPE_CHECKING:
    from vizsla.dataset import Dataset

CELLS = 1 << 25
"""Numbers that are held at a time for queries that advance together."""
MOST_RIDGE = 1e6


class BudgetedSearch(Spender):
    """Finds the best items of a whole catalogue under an expensive scorer, with at most `budget` calls a query.

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
        The catalogue.
    plan : Plan
        How calls are spent.
    pool : Retriever, optional
        Only its best `pool_size` items of a query are considered.
    pool_size : int
        How many these are.
    seed : int
        Fixes what is drawn at random, together with the query's text.
    """

    _aligned_priors: Sequence[Aligned[Retriever]] = ()
    """What else estimates are made of: retrievers' scores."""

    def __init__(
        self, scorer: Scorer, items: Strings, plan: Plan, *, pool: Retriever | None, pool_size: int, seed: int
    ):
        if not isinstance(scorer, Scorer) or scorer.scale == "none":
            raise CompositionError(f"`scorer` must be a Scorer that gives scores. Got {type(scorer).__name__}.")
        check_uncut(scorer)
        check_cheap("pool", pool)
        self.scorer, self.plan, self.pool, self.seed = scorer, plan, pool, seed
        self.pool_size = check_positive("pool_size", pool_size)
        self.scale, self.highest, self.model_calls = scorer.scale, scorer.highest, scorer.model_calls
        self._items, self._aligned = items, Aligned(scorer, items)
        self._aligned_pool = None if pool is None else Aligned(pool, items)

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

    @property
    def effort(self) -> int:
        """The budget."""
        return self.plan.budget

    def with_effort(self, effort: int) -> Self:
        """Return the same search with another budget."""
        return self.with_budget(effort)

    def refitted(self, dataset: Dataset, *, threads: int = 1) -> Self:
        """Return itself, if none of its parts has learned from clicks; otherwise it raises."""
        for part in self._parts():
            if isinstance(part, Retriever) and part.refitted(dataset, threads=threads) is not part:
                remedy = "Give a function that builds the whole from a dataset."
                raise InputError(f"A part must have learned from no clicks, to stay. Got {part!r}. {remedy}")
        return self

    def _parts(self) -> list[Any]:
        """Return the scorer, and what retrievers there are."""
        return [unwrapped(self.scorer), self.pool]

    @checked
    def trace(self, query: str, *, threads: int = 1) -> Trace:
        """Search, and return all that was bought and believed: rounds, exact scores, and estimates of all items."""
        asked = Queries.of(query)
        return self._trace(asked, None, check_positive("threads", threads))[0]

    @abstractmethod
    def _estimates(self, queries: Queries, rows: range, pool: Pool, threads: int) -> tuple[Estimates, Stats]:
        """Return the estimates of some queries before any of their scores is known, and what that cost."""

    @abstractmethod
    def _held(self) -> int:
        """Return how many numbers a query's estimates hold beside those of the items."""

    @abstractmethod
    def _firsts(
        self, queries: Queries, rows: range, pool: Pool, estimates: Estimates, filter: Filter | None, threads: int
    ) -> tuple[list[Items] | None, Stats]:
        """Return the items of each query's first round, by the pool's places, or None to go by the estimates."""

    @property
    @abstractmethod
    def _columns(self) -> Factors:
        """The factors that estimates are made of, a column an item."""

    def _buy(self, queries: Queries, filter: Filter | None, threads: int) -> Purchase:
        batches = (self._spent(queries, rows, filter, threads) for rows in self._batches(len(queries)))
        return Purchase.of(batches, self._items, len(self._items) if filter is None else filter.count)

    def _guess(self, queries: Queries, bought: Purchase, pairs: Candidates, threads: int) -> Scored:  # type: ignore[override]
        guessed = bought.settled.pairs(self._columns, pairs)
        stats = Stats()
        for at, prior in enumerate(self._aligned_priors):
            scored = prior.score(queries, pairs, None, threads)
            guessed = guessed + bought.settled.told(at, pairs, scored.scores)
            stats = stats + scored.stats
        return Scored(guessed.astype(np.float32), stats)

    def _score_all(self, queries: Queries, everything: Candidates, filter: Filter | None, threads: int) -> Scored:
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
        size = max(16, CELLS // max(1, width + self._held()) // 16 * 16)
        return [range(start, min(start + size, queries)) for start in range(0, queries, size)]

    def _pool(self, queries: Queries, rows: range, filter: Filter | None, threads: int) -> tuple[Pool, Stats]:
        if self._aligned_pool is None:
            return Pool(len(rows), len(self._items)), Stats(exact=True)
        found, stats = found_by(self._aligned_pool, self.pool_size, queries, filter, threads)
        numbers = [np.sort(found.row(row)[0]).astype(np.int64) for row in rows]
        return Pool(len(rows), len(self._items), numbers), stats

    def _spent(self, queries: Queries, rows: range, filter: Filter | None, threads: int) -> Batch:
        pool, costs = self._pool(queries, rows, filter, threads)
        estimates, cost = self._estimates(queries, rows, pool, threads)
        firsts, more = self._firsts(queries, rows, pool, estimates, filter, threads)
        bill = _Bill(self._aligned, queries, rows, pool, threads)
        randoms = [np.random.default_rng([self.seed, *queries.texts[row].encode("utf-8", "replace")]) for row in rows]
        ledgers = spend(estimates, pool.allowed(filter), firsts, self.plan, bill.score, randoms)
        return Batch(pool, ledgers, estimates, costs + cost + more, bill.stats)


class _Bill:
    """Scores pairs, and adds up what that cost."""

    def __init__(self, scorer: Aligned[Any], queries: Queries, rows: range, pool: Pool, threads: int):
        self._scorer, self._queries, self._rows, self._pool, self._threads = scorer, queries, rows, pool, threads
        self.stats = Stats()

    def score(self, chosen: list[Items]) -> list[Floats]:
        items = [self._pool.items(at, places).astype(np.int32) for at, places in enumerate(chosen)]
        # Queries of other batches keep their places with empty rows, so that limits for each query see all of a call.
        counts = np.zeros(len(self._queries), np.int64)
        counts[self._rows.start : self._rows.stop] = [len(some) for some in items]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        pairs = Candidates.trusted(offsets, np.concatenate(items), None, self._scorer.merged, Stats())
        scored = self._scorer.score(self._queries, pairs, None, self._threads)
        self.stats = self.stats + scored.stats
        bounds = offsets[self._rows.start : self._rows.stop + 1]
        return [scored.scores[start:end] for start, end in pairwise(bounds)]
