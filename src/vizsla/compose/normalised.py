"""Scores of unlike scales brought to one, query by query."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from vizsla import _native
from vizsla.candidates import Candidates, Scores
from vizsla.compose.composition import Composition
from vizsla.errors import check_choice, check_positive
from vizsla.explanation import Explanation
from vizsla.filter import Filter
from vizsla.queries import Queries
from vizsla.retriever import Retriever
from vizsla.scored import Scored
from vizsla.stats import Stats

METHODS = ("minmax", "zscore", "rank")
RECIPROCAL_RANK_CONSTANT = 60.0
"""The customary constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""


class Normalised(Composition):
    """A part's scores, rescaled by what its best `depth` of the same query look like.

    `minmax` maps the lowest of them to 0 and the highest to 1, `zscore` their mean to 0 and their spread to 1, `rank`
    gives 1 / (60 + rank). An item outside of the list is scored by the part and rescaled alike (it may fall below 0);
    by rank it gets 0. A filter changes no scale: what it leaves keeps scores and order. Only ranks are places in the
    filtered list.
    """

    operation = "normalised"

    def __init__(self, part: Retriever, how: str = "minmax", *, depth: int = 100):
        check_choice("how", how, METHODS)
        super().__init__([part])
        self.how, self.depth, self.scale = how, check_positive("depth", depth), how

    def __str__(self) -> str:
        return f"{self.parts[0]}.normalised({self.how!r})"

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        # By rank, places are those of the filtered list; a scale is the query's own, whatever may be found.
        whole = filter is None or self.how == "rank"
        found = self.parts[0]._search(queries, max(k, self.depth) if whole else k, filter, threads)
        if whole:
            queries.remember((self, filter), self._reference(found))
        scored = self._rescaled(queries, found, found._required_scores(), filter, threads)
        stats = (found.stats + scored.stats).with_exact(found.stats.exact)
        return found.rescored(Scored(scored.scores, stats), k=k)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> Scored:
        scored = self._aligned[0].score(queries, candidates, filter, threads)
        rescaled = self._rescaled(queries, candidates, scored.scores, filter, threads)
        return Scored(rescaled.scores, scored.stats + rescaled.stats)

    def _rescaled(
        self, queries: Queries, candidates: Candidates, scores: Scores, filter: Filter | None, threads: int
    ) -> Scored:
        """Return the scores on the queries' scales; finding these costs a search, unless this call has made it."""
        under = filter if self.how == "rank" else None
        reference, stats = queries.known((self, under)), Stats()
        if reference is None:
            found = self.parts[0]._search(queries, self.depth, under, threads)
            reference, stats = queries.remember((self, under), self._reference(found)), found.stats
        if self.how == "rank":
            places = reference.offsets, reference.items, self.depth, RECIPROCAL_RANK_CONSTANT
            packed: Any = _native.reciprocal_places(*places, candidates.offsets, candidates.items)
        else:
            packed = _native.rescale(candidates.offsets, scores, reference)
        return Scored(np.frombuffer(packed, np.float32), stats)

    def _reference(self, found: Candidates) -> Any:
        """Return what scores are rescaled by: the ranked list itself, or two numbers a query."""
        if self.how == "rank":
            return found
        scales: Any = _native.row_scales(found.offsets, found._required_scores(), self.how, self.depth)
        return np.frombuffer(scales, np.float64)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        raw = self.parts[0]._explain(queries, item, filter)
        score = self._score_one(queries, item, filter)
        return Explanation(score, f"{self.how} over the best {self.depth} of {raw.score:.4f}", [raw])

    def _options(self) -> dict[str, Any]:
        return {"how": self.how, "depth": self.depth}

    @classmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        return cls(parts[0], options["how"], depth=options["depth"])
