"""`0.7*a + 0.3*b`: a weighted sum of like scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from vizsla.candidates import Candidates
from vizsla.compose.composition import Composition
from vizsla.compose.union import interleave
from vizsla.errors import CompositionError, check_positive
from vizsla.explanation import Explanation
from vizsla.index import Mask
from vizsla.retriever import Retriever
from vizsla.stats import Stats

Term = tuple[float, Retriever]


class Sum(Composition):
    """A weighted sum over the union of the parts' best `depth`.

    An item that one part did not find is scored by that part, never counted as 0: absent is not zero. Scores of
    unlike scales are refused; bring them to one scale with `.normalised(...)`.
    """

    operation = "sum"

    def __init__(self, terms: Sequence[Term], *, depth: int = 100):
        flat = [pair for term in terms for pair in _flattened(term, depth)]
        super().__init__([part for _, part in flat])
        self.weights = [_checked_weight(weight) for weight, _ in flat]
        self.depth = check_positive("depth", depth)
        self.scale = _common_scale(self.parts)
        self._check_catalogues()

    def __str__(self) -> str:
        return "(" + " + ".join(f"{w:g}*{part}" for w, part in zip(self.weights, self.parts, strict=True)) + ")"

    def _search(self, texts: list[str], k: int, allowed: Mask | None, threads: int) -> Candidates:
        depth = max(k, self.depth)
        found = [part.search(texts, depth, allowed, threads) for part in self._aligned]
        rows = [np.sort(interleave([side.row(query)[0] for side in found])) for query in range(len(texts))]
        joined = Candidates.matches(rows, catalogue=self.items)
        scored = [part.complete(texts, own, joined) for part, own in zip(self._aligned, found, strict=True)]
        stats = sum((side.stats for side in found), Stats())
        return self._added(joined, scored).top(k).with_stats(stats)

    def _score(self, texts: list[str], candidates: Candidates) -> Candidates:
        scored = [part.score(texts, candidates) for part in self.parts]
        stats = sum((side.stats for side in scored), Stats())
        return self._added(candidates, scored).with_stats(stats)

    def _added(self, joined: Candidates, scored: Sequence[Candidates]) -> Candidates:
        order = _by_item(joined)
        totals = np.zeros(len(joined.items), dtype=np.float64)
        for weight, side in zip(self.weights, scored, strict=True):
            totals += weight * side._required_scores()[_by_item(side)].astype(np.float64)
        return Candidates.ranked(
            joined.offsets, joined.items[order], totals.astype(np.float32), catalogue=joined.catalogue
        )

    def _explain(self, text: str, item: int) -> Explanation:
        id_ = self.items[item]
        parts = [part.explain(text, id_) for part in self.parts]
        shares = [
            Explanation(weight * part.score, f"{weight:g} × {part.score:.4f}", [part])
            for weight, part in zip(self.weights, parts, strict=True)
        ]
        return Explanation(sum(share.score for share in shares), "weighted sum", shares)

    def _options(self) -> dict[str, Any]:
        return {"weights": self.weights, "depth": self.depth}

    @classmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        return cls(list(zip(options["weights"], parts, strict=True)), depth=options["depth"])

    def _check_catalogues(self) -> None:
        for part in self.parts:
            if len(part.items) != len(self.items):
                raise CompositionError(
                    f"Parts of a sum must know the same items, or an item has no score. Got {len(part.items)} items "
                    f"in one part of {len(self.items)} in all: build them over one catalogue, or join them with `|`."
                )


def _flattened(term: Term, depth: int) -> list[Term]:
    weight, part = term
    if not isinstance(part, Sum) or (part.depth != depth and len(part.parts) > 1):
        return [term]
    return [(weight * inner, each) for inner, each in zip(part.weights, part.parts, strict=True)]


def _checked_weight(weight: float) -> float:
    if not np.isfinite(weight) or weight < 0:
        raise CompositionError(f"A weight must be a finite number of at least 0. Got {weight!r}.")
    return float(weight)


def _common_scale(parts: Sequence[Retriever]) -> str:
    scales = sorted({part.scale for part in parts})
    if "none" in scales:
        raise CompositionError("A match set has no scores to add. Score it first: (a | b) >> scorer.")
    if len(scales) > 1:
        raise CompositionError(
            f"Scores to add must be of one scale. Got {', '.join(scales)}: use a.normalised() + b.normalised()."
        )
    return scales[0]


def _by_item(candidates: Candidates) -> np.ndarray[Any, np.dtype[np.int64]]:
    rows = np.repeat(np.arange(len(candidates)), np.diff(candidates.offsets))
    return np.lexsort((candidates.items, rows))
