"""`a >> scorer`: one part finds, another scores."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from vizsla.candidates import Candidates
from vizsla.compose.composition import Composition
from vizsla.errors import CompositionError, check_positive
from vizsla.explanation import Explanation
from vizsla.index import Mask
from vizsla.retriever import Retriever
from vizsla.scorer import Scorer


class Rerank(Composition):
    """The first part's best `depth` candidates, scored and ordered by the scorer.

    A query costs at most `depth` scorer calls, or `k` when more than `depth` answers are asked for.
    """

    operation = "rerank"

    def __init__(self, first: Retriever, scorer: Scorer, *, depth: int = 100):
        super().__init__([first])
        if not isinstance(scorer, Scorer):
            raise CompositionError(f"`scorer` must be a Scorer. Got {type(scorer).__name__}.")
        self.first, self.scorer, self.depth = first, scorer, check_positive("depth", depth)
        self.scale = scorer.scale

    def __str__(self) -> str:
        return f"({self.first}) >> {self.scorer}"

    def _search(self, texts: list[str], k: int, allowed: Mask | None, threads: int) -> Candidates:
        found = self.first._search(texts, max(k, self.depth), allowed, threads)
        scored = self.scorer.score(texts, found)
        return scored.top(k).with_stats(found.stats + scored.stats)

    def _score(self, texts: list[str], candidates: Candidates) -> Candidates:
        return self.scorer.score(texts, candidates)

    def _explain(self, text: str, item: int) -> Explanation:
        id_ = self.items[item]
        if isinstance(self.scorer, Retriever):
            return self.scorer.explain(text, id_)
        one = Candidates.matches([np.array([item], dtype=np.int32)], catalogue=self.items)
        return Explanation(float(self.scorer.score([text], one).to_dict()["0"][id_]), f"score by {self.scorer}")

    def _scorers(self) -> list[Any]:
        return [self.first, self.scorer]

    def _options(self) -> dict[str, Any]:
        return {"depth": self.depth}

    @classmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        return cls(parts[0], parts[1], depth=options["depth"])
