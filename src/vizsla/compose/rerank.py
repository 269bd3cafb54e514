"""`a >> scorer`: one part finds, another scores."""

from __future__ import annotations

from typing import Any, Self

from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.base.scorer import Scorer, check_uncut
from vizsla.compose.composition import Composition, bracketed, check_nesting
from vizsla.compose.id_alignment import ReindexedPart
from vizsla.core.candidates import Candidates, PairScores
from vizsla.core.explanation import Explanation
from vizsla.data.filter import Filter
from vizsla.errors import CompositionError, check_positive


class Rerank(Composition):
    """The first part's best `depth` candidates, scored and ordered by the scorer.

    A query costs at most `depth` scorer calls, or `k` when more than `depth` answers are asked for.
    """

    operation = "rerank"
    needs_parentheses = True

    def __init__(self, first: Retriever, scorer: Scorer, *, depth: int = 100):
        super().__init__([first])
        if not isinstance(scorer, Scorer):
            raise CompositionError(f"`scorer` must be a Scorer. Got {type(scorer).__name__}.")
        check_uncut(scorer)
        if scorer.scale == "none":
            raise CompositionError("`scorer` must give scores. Got a match set: put it before the `>>`.")
        check_nesting([first, scorer])
        self.first, self.scorer, self.depth = first, scorer, check_positive("depth", depth)
        self.scale = scorer.scale
        self._aligned_scorer = ReindexedPart(scorer, first.items)

    def __str__(self) -> str:
        return f"{bracketed(self.first)} >> {bracketed(self.scorer)}"

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        self._spend_before_filter(filter, queries, threads)
        found = self.first._search_checked(queries, max(k, self.depth), filter, threads)
        scored = self._aligned_scorer.score(queries, found, filter, threads)
        return found.with_scores(PairScores(scored.scores, (found.stats + scored.stats).with_exact(False)), k=k)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        self._spend_before_filter(filter, queries, threads)
        return self._aligned_scorer.score(queries, candidates, filter, threads)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        self._spend_before_filter(filter, queries, 1)
        side = self._aligned_scorer
        if side.own_item(item) >= 0:
            return self.scorer._explain(queries, side.own_item(item), side.own_filter(filter))
        return Explanation(self._score_one(queries, item, filter), f"score by {self.scorer}")

    def _spending_parts(self) -> list[Any]:
        return [self.scorer]  # who only finds may go by the filter

    def children(self) -> list[Scorer]:
        """Return what finds, and what scores."""
        return [self.first, self.scorer]

    def _options(self) -> dict[str, Any]:
        return {"depth": self.depth}

    @classmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        return cls(parts[0], parts[1], depth=options["depth"])
