"""`rerank(first, scorer, budget=…)`: one part finds, another scores, so many items of a query and no more."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from vizsla.candidates import Candidates
from vizsla.checked import checked
from vizsla.compose.bought import Bought
from vizsla.compose.cut import Cut
from vizsla.compose.rerank import Rerank
from vizsla.compose.spender import Spender
from vizsla.errors import check_positive
from vizsla.explanation import Explanation
from vizsla.filter import Filter
from vizsla.queries import Queries
from vizsla.retriever import Retriever
from vizsla.scored import Scored
from vizsla.scorer import Scorer
from vizsla.stats import Stats


class BudgetedRerank(Spender, Rerank):
    """The first part's best `budget` candidates, scored and ordered by the scorer; no query costs more calls.

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
        super().__init__(Cut(first, most), scorer, depth=most)
        self.budget, self.highest = most, scorer.highest

    def _buy(self, queries: Queries, filter: Filter | None, threads: int) -> Bought:
        return Bought(Rerank._search(self, queries, self.budget, filter, threads))

    def _guess(self, queries: Queries, bought: Bought, pairs: Candidates, threads: int) -> Scored:
        found, scores = bought.found, bought.found._required_scores()
        last = np.maximum(found.offsets[1:] - 1, 0)
        least = np.where(np.diff(found.offsets) > 0, scores[last] if len(scores) else 0.0, 0.0)
        return Scored(np.repeat(least, np.diff(pairs.offsets)).astype(np.float32), Stats())

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


@checked
def rerank(first: Retriever, scorer: Scorer, *, budget: int = 100) -> BudgetedRerank:
    """Find `budget` candidates and let the scorer score them: the plainest way to spend calls.

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
