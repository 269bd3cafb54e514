"""`0.7*a + 0.3*b`: a weighted sum of like scores."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Self

import numpy as np

from vizsla.cached_property import cached_property
from vizsla.candidates import Candidates
from vizsla.compose.composition import Composition, bracketed
from vizsla.compose.finite_scores import check_addable
from vizsla.compose.fusion import Term, fused, weighted_sum
from vizsla.compose.live_sum import LiveSum
from vizsla.compose.normalised import Normalised
from vizsla.errors import CompositionError, check_positive
from vizsla.explanation import Explanation
from vizsla.filter import Filter
from vizsla.queries import Queries
from vizsla.retriever import Retriever
from vizsla.scored import Scored
from vizsla.short_text import short_text
from vizsla.stats import Stats

Weighted = tuple[float, Retriever]

MOST_WEIGHT = 1e30
"""All weights of a sum together: scores of up to 10^8 still fit into float32 then, where infinite ones would tie."""


class Sum(Composition):
    """A weighted sum over the union of the parts' best `depth`.

    An item that one part did not find is scored by that part, never counted as 0: absent is not zero. Only items are
    left unscored that cannot be among the best `k` whatever the part would say. Scores of unlike scales are refused;
    bring them to one scale with `.normalised(...)`.
    """

    operation = "sum"

    def __init__(self, terms: Sequence[Weighted], *, depth: int = 100):
        flat = [pair for term in terms for pair in _flattened(term, depth)]
        super().__init__([part for _, part in flat])
        self.weights = [_checked_weight(weight) for weight, _ in flat]
        self.total_weight = _checked_total(self.weights, self.parts)
        self.depth = check_positive("depth", depth)
        self.scale = _common_scale(self.parts)
        self._check_catalogues()

    @cached_property
    def _terms(self) -> list[Term]:
        """What is searched; made when it is needed, since most sums of a long chain never are."""
        return [Term.of(part, weight, self.items) for part, weight in zip(self.parts, self.weights, strict=True)]

    @cached_property
    def _live(self) -> LiveSum | None:
        return LiveSum.of(self._terms)

    def __str__(self) -> str:
        terms = zip(self.weights, self.parts, strict=True)
        return "(" + " + ".join(f"{weight:g}*{bracketed(part)}" for weight, part in terms) + ")"

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        taken = max(k, self.depth)
        if self._live is not None and filter is None and self._live.serves(taken):
            return self._live.search(queries, k, taken, threads)
        self._settle_for(filter, queries, threads)
        return fused(self._terms, queries, k, self.depth, filter, threads)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> Scored:
        self._settle_for(filter, queries, threads)
        scored = [part.score(queries, candidates, filter, threads) for part in self._aligned]
        stats = reduce(Stats.__add__, [side.stats for side in scored])
        totals = weighted_sum(self.weights, [side.scores for side in scored])
        check_addable(queries, candidates, totals)
        return Scored(totals, stats)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        self._settle_for(filter, queries, 1)
        parts = [side.part._explain(queries, side.own_item(item), side.own_filter(filter)) for side in self._aligned]
        shares = [
            Explanation(weight * part.score, short_text(f"{weight:g} × {part.score:.4f}, the share of {of}"), [part])
            for weight, part, of in zip(self.weights, parts, self.parts, strict=True)
        ]
        total = sum(share.score for share in shares)
        check_addable(queries, self._one(item), np.array([total]))
        return Explanation(total, "weighted sum", shares)

    def _settling(self) -> list[Any]:
        """Return the parts without those that only places count of, which are those of the filtered list."""
        return [part for part in self.parts if not (isinstance(part, Normalised) and part.how == "rank")]

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


def _flattened(term: Weighted, depth: int) -> list[Weighted]:
    weight, part = term
    if not isinstance(part, Sum) or (part.depth != depth and len(part.parts) > 1):
        return [term]
    return [(weight * inner, each) for inner, each in zip(part.weights, part.parts, strict=True)]


def _checked_weight(weight: float) -> float:
    if not np.isfinite(weight) or weight < 0:
        raise CompositionError(f"A weight must be a finite number of at least 0. Got {weight!r}.")
    return float(weight)


def _checked_total(weights: Sequence[float], parts: Sequence[Retriever]) -> float:
    """Return what all weights add up to, those of sums inside included."""
    inner = [part.total_weight if isinstance(part, Sum) else 1.0 for part in parts]
    total = sum(weight * times for weight, times in zip(weights, inner, strict=True))
    if total > MOST_WEIGHT:
        raise CompositionError(
            f"The weights of a sum must be at most {MOST_WEIGHT:g} in all, or scores overflow. Got {total:g}: divide "
            "all of them by the largest, which changes no ranking."
        )
    return total


def _common_scale(parts: Sequence[Retriever]) -> str:
    scales = sorted({part.scale for part in parts})
    if "none" in scales:
        raise CompositionError("A match set has no scores to add. Score it first: (a | b) >> scorer.")
    if len(scales) > 1:
        raise CompositionError(
            f"Scores to add must be of one scale. Got {', '.join(scales)}: use a.normalised() + b.normalised()."
        )
    return scales[0]
