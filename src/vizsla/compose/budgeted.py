"""Retrievers that spend a budget of scores once per call, and `rerank(first, scorer, budget=…)`."""

from __future__ import annotations

from abc import abstractmethod
from math import inf
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.base.scorer import Scorer
from vizsla.compose.operators import Rerank, TopK
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.core.validation import validate_args
from vizsla.data.filter import Filter
from vizsla.errors import check_positive
from vizsla.typing import Float32Array, Int32Array


class PurchasedScores:
    """Exact scores purchased in a call for its queries, and the part of their cost that is not reported yet.

    Parameters
    ----------
    found : Candidates
        All that was bought, ranked; its `stats` are the cost.
    """

    def __init__(self, found: Candidates):
        self.found, self._owed = found, found.stats

    def bill(self) -> Stats:
        """Return the cost, once; after that nothing."""
        owed, self._owed = self._owed, Stats(exact=True)
        return owed.with_exact(self.found.stats.exact)

    def best(self, k: int, filter: Filter | None) -> Candidates:
        """Return the best `k` that are allowed, with the cost if it is still owed."""
        kept = self.found if filter is None else _allowed(self.found, filter)
        return kept.top(k).with_stats(self.bill())

    def holds(self, item: int) -> bool:
        """Whether the item was bought for the first query."""
        return bool(np.any(self.found.row(0)[0] == item))

    def scores_of(self, pairs: Candidates) -> tuple[Float32Array, NDArray[np.int64]]:
        """Return the pairs' scores in their order, NaN where a pair was not bought, and where that is."""
        width = 1 + max(int(side.items.max(initial=-1)) for side in (self.found, pairs))
        known, asked = _keys(self.found, width), _keys(pairs, width)
        order = np.argsort(known, kind="stable")
        scores = np.full(len(asked), np.nan, np.float32)
        if len(known):
            at = order[np.minimum(np.searchsorted(known, asked, sorter=order), len(known) - 1)]
            scores = np.where(known[at] == asked, self.found._required_scores()[at], scores)
        return scores, np.flatnonzero(np.isnan(scores))


def _keys(pairs: Candidates, width: int) -> NDArray[np.int64]:
    return pairs.row_numbers() * width + pairs.items


def _allowed(found: Candidates, filter: Filter) -> Candidates:
    places = np.flatnonzero(filter.mask[found.items])
    kept = found.select(places)
    scores = found._required_scores()[places]
    return Candidates.unchecked(kept.offsets, kept.items, scores, found.catalog, found.stats)


class BudgetedRetriever(Retriever):
    """A search under a budget that holds for all requests of one call.

    A composition may ask several times: for candidates, for a scale, for scores of what other parts have found. The
    first request buys scores, as many as the budget allows; they stand in the call's `Queries`, and every request is
    answered from them. An item that was not bought has an estimate as its score, which depends on the query alone.
    """

    is_composite = True

    @abstractmethod
    def _buy(self, queries: Queries, filter: Filter | None, threads: int) -> PurchasedScores:
        """Spend the budget of each query on items that the filter allows."""

    @abstractmethod
    def _guess(self, queries: Queries, bought: PurchasedScores, pairs: Candidates, threads: int) -> PairScores:
        """Return estimates of pairs that were not bought: a pair's is the same in any company."""

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        return self._bought(queries, filter, threads).best(k, filter)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        bought = self._bought(queries, filter, threads)
        (scores, missing), stats = bought.scores_of(candidates), bought.bill()
        if len(missing):
            guessed = self._guess(queries, bought, candidates.select(missing), threads)
            scores[missing] = np.clip(guessed.scores, np.finfo(np.float32).min, min(self.max_score, _MAX_FLOAT32))
            stats = stats + guessed.stats + Stats(estimated=len(missing))
        return PairScores(scores, stats)

    def _matches(self, queries: Queries, threads: int) -> Int32Array | None:
        return None  # what is bought is what is found

    def _unscored_best(self, queries: Queries, depth: int, filter: Filter | None, threads: int) -> Int32Array | None:
        return None

    def _steady_depth(self, filter: Filter | None) -> float:
        return inf

    def _ignored_cut(self) -> int | None:
        return None  # scores are asked for after a search

    def _spend_budget_first(self, queries: Queries, threads: int) -> None:
        self._bought(queries, None, threads)

    def _bought(self, queries: Queries, filter: Filter | None, threads: int) -> PurchasedScores:
        known: PurchasedScores | None = queries.spent.get(self)
        if known is None:
            known = queries.spent[self] = self._buy(queries, filter, threads)
        return known


_MAX_FLOAT32 = float(np.finfo(np.float32).max)


class BudgetedRerank(BudgetedRetriever, Rerank):
    """The first part's best `budget` candidates, scored and ranked by the scorer; no query costs more calls.

    An item that is not among them is taken to score as the least of them, where a composition asks for its score:
    nothing else is known of it.

    Parameters
    ----------
    first : Retriever
        Finds candidates.
    scorer : Scorer
        Scores them.
    budget : int
        The most of them.
    """

    operation = "budgeted rerank"

    def __init__(self, first: Retriever, scorer: Scorer, *, budget: int = 100):
        most = check_positive("budget", budget)
        super().__init__(TopK(first, most), scorer, depth=most)
        self.budget, self.max_score = most, scorer.max_score

    def _buy(self, queries: Queries, filter: Filter | None, threads: int) -> PurchasedScores:
        return PurchasedScores(Rerank._search(self, queries, self.budget, filter, threads))

    def _guess(self, queries: Queries, bought: PurchasedScores, pairs: Candidates, threads: int) -> PairScores:
        found, scores = bought.found, bought.found._required_scores()
        last = np.maximum(found.offsets[1:] - 1, 0)
        least = np.where(np.diff(found.offsets) > 0, scores[last] if len(scores) else 0.0, 0.0)
        return PairScores(np.repeat(least, np.diff(pairs.offsets)).astype(np.float32), Stats())

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        scored = self._score_one(queries, item, filter)
        if self._bought(queries, filter, 1).holds(item):
            return Explanation(scored, f"score by {self.scorer}")
        return Explanation(scored, f"not among the {self.budget} that were scored: taken for the least of them")

    def _options(self) -> dict[str, Any]:
        return {"budget": self.budget}

    @classmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        return cls(parts[0], parts[1], budget=options["budget"])


@validate_args
def rerank(first: Retriever, scorer: Scorer, *, budget: int = 100) -> BudgetedRerank:
    """Retrieve `budget` candidates and re-rank them with the scorer.

    It finds what ``(first % budget) >> scorer`` finds: however many answers are asked for, no query costs more calls.
    That holds in any composition, too.

    Examples
    --------
    >>> from vizsla import FunctionScorer, bm25
    >>> items = {"a": "fig tree", "b": "fig"}
    >>> short = FunctionScorer(lambda query, texts: [-len(text) for text in texts], items)
    >>> rerank(bm25(items), short, budget=2)("fig").ids
    [['b', 'a']]
    """
    return BudgetedRerank(first, scorer, budget=budget)
