"""The compositions behind `>>`, `|` and `%`: re-ranking, union and cut-off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from vizsla import _native
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.base.scorer import Scorer, check_uncut
from vizsla.compose.composition import Composition, bracketed, check_nesting
from vizsla.compose.id_alignment import ReindexedPart
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.data.filter import Filter
from vizsla.errors import CompositionError, check_positive
from vizsla.typing import Int32Array


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

    def _unscored_best(self, queries: Queries, depth: int, filter: Filter | None, threads: int) -> Int32Array | None:
        """Return what the first part finds: the scorer only orders it."""
        pool = self.first._unscored_best(queries, depth, filter, threads)
        return self.first._search_checked(queries, depth, filter, threads).items if pool is None else pool

    def _spending_parts(self) -> list[Any]:
        return [self.scorer]  # a part that only finds may use the filter

    def children(self) -> list[Scorer]:
        """Return what finds, and what scores."""
        return [self.first, self.scorer]

    def _options(self) -> dict[str, Any]:
        return {"depth": self.depth}

    @classmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        return cls(parts[0], parts[1], depth=options["depth"])


class Union(Composition):
    """The union of both sides' best `depth` candidates, without scores until a Scorer scores them.

    The sides take turns, best first, and an item is taken once; so a cut-off keeps the best of every side. Asked
    for more than `depth` items, the sides look that deep.
    """

    operation = "union"
    scale = "none"

    def __init__(self, parts: Sequence[Retriever], *, depth: int = 100):
        super().__init__([side for part in parts for side in _flattened(part, depth)])
        self.depth = check_positive("depth", depth)

    def __str__(self) -> str:
        return "(" + " | ".join(map(bracketed, self.parts)) + ")"

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        depth = max(k, self.depth)
        found = [side.search(queries, depth, filter, threads) for side in self._aligned]
        offsets, items = _native.interleave([(side.offsets, side.items) for side in found], k)
        stats = sum((side.stats for side in found), Stats())
        return Candidates.unchecked(
            np.frombuffer(offsets, np.int64), np.frombuffer(items, np.int32), None, self.items, stats
        )

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        raise CompositionError(f"A match set has no scores. Score it with a Scorer: {self} >> scorer.")

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        sides = [
            side.part._explain(queries, side.own_item(item), side.own_filter(filter))
            for side in self._aligned
            if side.own_item(item) >= 0
        ]
        return Explanation(0.0, "a match set has no score; what each side would give:", sides)

    def _options(self) -> dict[str, Any]:
        return {"depth": self.depth}

    @classmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        return cls(parts, depth=options["depth"])


def _flattened(part: Retriever, depth: int) -> list[Retriever]:
    return part.parts if isinstance(part, Union) and part.depth == depth else [part]


class TopK(Composition):
    """At most the best `k` of a part; the cut-off is pushed down into the part's own search.

    A cut of a cut is one cut, by the smaller number.
    """

    operation = "cut"
    needs_parentheses = True
    k: int

    def __init__(self, part: Retriever, k: int):
        most = check_positive("k", k)
        if isinstance(part, TopK):
            most, part = min(most, part.k), part.parts[0]
        super().__init__([part])
        self.k, self.scale = most, part.scale

    def __str__(self) -> str:
        return f"{bracketed(self.parts[0])} % {self.k}"

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        found = self.parts[0]._search_checked(queries, min(k, self.k), filter, threads)
        return found if k <= self.k else found.with_stats(found.stats.with_exact(False))  # more would be scored

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        return self._aligned[0].score(queries, candidates, filter, threads)

    def _matches(self, queries: Queries, threads: int) -> Int32Array | None:
        return None  # the best k: what these are depends on the filter

    def _ignored_cut(self) -> int | None:
        return self.k

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        return self.parts[0]._explain(queries, item, filter)

    def _options(self) -> dict[str, Any]:
        return {"k": self.k}

    @classmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        return cls(parts[0], options["k"])
