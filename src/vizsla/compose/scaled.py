"""Scores brought to another scale by one rule for all queries: a part that is sure of its answer counts more."""

from __future__ import annotations

from math import exp, inf
from typing import Any, Self

import numpy as np

from vizsla.candidates import Candidates, Scores
from vizsla.compose.composition import Composition, bracketed
from vizsla.errors import CompositionError, check_choice
from vizsla.explanation import Explanation
from vizsla.filter import Filter
from vizsla.queries import Queries
from vizsla.retriever import Retriever
from vizsla.scored import Scored

RULES = ("linear", "exp")


class Scaled(Composition):
    """A part's scores times `slope` ("linear"), or `height` · e^(slope · score) ("exp").

    Unlike `Normalised` it does not look at what else was found. Where a part is unsure, all its scores are low and stay
    low, and in a sum the others decide. `exp` suits scores that are logarithms, as those of XR-Linear.

    Parameters
    ----------
    part : Retriever
        What is rescaled; order and ties stay.
    how : {"linear", "exp"}
        The rule.
    slope, height : float
        Its numbers, above 0.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> search = bm25(["a fig", "a pear"])
    >>> Scaled(search, slope=2.0)("fig")[0][0].score == 2 * search("fig")[0][0].score
    True
    """

    operation = "scaled"
    scale = "scaled"

    def __init__(self, part: Retriever, how: str = "linear", *, slope: float = 1.0, height: float = 1.0):
        check_choice("how", how, RULES)
        super().__init__([part])
        self.how, self.slope, self.height = how, _positive(slope), _positive(height)
        if part.scale == "none":
            raise CompositionError("A match set has no scores to rescale. Score it first: (a | b) >> scorer.")

    def __str__(self) -> str:
        numbers = f"slope={self.slope:g}" + (f", height={self.height:g}" if self.how == "exp" else "")
        return f"{bracketed(self.parts[0])}.scaled({self.how!r}, {numbers})"

    @property
    def highest(self) -> float:  # type: ignore[override]
        """What becomes of the highest score that the part can give."""
        highest = self.parts[0].highest
        if highest == inf:
            return inf
        return self.height * exp(self.slope * highest) if self.how == "exp" else self.slope * highest

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        found = self.parts[0]._search_checked(queries, k, filter, threads)
        scores = self.rescaled(found._required_scores())
        ceilings = None if found.ceilings is None else self.rescaled(found.ceilings)
        return found.rescored(Scored(scores, found.stats)).with_ceilings(ceilings)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> Scored:
        scored = self._aligned[0].score(queries, candidates, filter, threads)
        return Scored(self.rescaled(scored.scores), scored.stats)

    def rescaled(self, scores: Scores) -> Scores:
        """Return scores by the rule, computed in float64 and rounded once."""
        sloped = self.slope * scores.astype(np.float64)
        return np.asarray(self.height * np.exp(sloped) if self.how == "exp" else sloped, np.float32)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        raw = self.parts[0]._explain(queries, item, filter)
        score = self._score_one(queries, item, filter)
        said = f"{self.height:g} × e^({self.slope:g} × {raw.score:.4f})" if self.how == "exp" else ""
        return Explanation(score, said or f"{self.slope:g} × {raw.score:.4f}", [raw])

    def _options(self) -> dict[str, Any]:
        return {"how": self.how, "slope": self.slope, "height": self.height}

    @classmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        return cls(parts[0], options["how"], slope=options["slope"], height=options["height"])


def _positive(value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < inf:
        raise CompositionError(f"A slope or a height must be a number above 0. Got {value!r}.")
    return float(value)
