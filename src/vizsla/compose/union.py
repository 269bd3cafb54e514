"""`a | b`: what either side finds, as a match set without scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from vizsla import _native
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.compose.composition import Composition, bracketed
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.data.filter import Filter
from vizsla.errors import CompositionError, check_positive


class Union(Composition):
    """Each side's best `depth`, joined without scores: unlike scores cannot be compared until a Scorer scores them.

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
