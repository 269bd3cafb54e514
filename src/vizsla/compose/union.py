"""`a | b`: what either side finds, as a match set without scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from vizsla.candidates import Candidates, Numbers
from vizsla.compose.composition import Composition
from vizsla.errors import CompositionError, check_positive
from vizsla.explanation import Explanation
from vizsla.index import Mask
from vizsla.retriever import Retriever
from vizsla.stats import Stats


class Union(Composition):
    """Each side's best `depth`, joined without scores: unlike scores cannot be compared until a Scorer scores them.

    The sides take turns, best first, and an item is taken once; so a cut-off keeps the best of every side.
    """

    operation = "union"
    scale = "none"

    def __init__(self, parts: Sequence[Retriever], *, depth: int = 100):
        super().__init__([side for part in parts for side in _flattened(part, depth)])
        self.depth = check_positive("depth", depth)

    def __str__(self) -> str:
        return "(" + " | ".join(map(str, self.parts)) + ")"

    def _search(self, texts: list[str], k: int, allowed: Mask | None, threads: int) -> Candidates:
        found = [side.search(texts, self.depth, allowed, threads) for side in self._aligned]
        rows = [interleave([side.row(query)[0] for side in found])[:k] for query in range(len(texts))]
        stats = sum((side.stats for side in found), Stats())
        return Candidates.matches(rows, catalogue=self.items, stats=stats)

    def _score(self, texts: list[str], candidates: Candidates) -> Candidates:
        raise CompositionError(f"A match set has no scores. Score it with a Scorer: {self} >> scorer.")

    def _explain(self, text: str, item: int) -> Explanation:
        id_ = self.items[item]
        sides = [part.explain(text, id_) for part in self.parts if id_ in part.items]
        return Explanation(0.0, "a match set has no score; what each side would give:", sides)

    def _options(self) -> dict[str, Any]:
        return {"depth": self.depth}

    @classmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        return cls(parts, depth=options["depth"])


def interleave(rows: Sequence[Numbers]) -> Numbers:
    """Take turns over the rows and keep each item's first place.

    Examples
    --------
    >>> interleave([np.array([5, 3], np.int32), np.array([3, 9], np.int32)]).tolist()
    [5, 3, 9]
    """
    items = np.concatenate([np.zeros(0, np.int32), *rows])
    turns = np.concatenate(
        [np.zeros(0, np.int64), *(np.arange(len(row)) * len(rows) + i for i, row in enumerate(rows))]
    )
    ordered = items[np.argsort(turns, kind="stable")]
    _, firsts = np.unique(ordered, return_index=True)
    return ordered[np.sort(firsts)]


def _flattened(part: Retriever, depth: int) -> list[Retriever]:
    return part.parts if isinstance(part, Union) and part.depth == depth else [part]
