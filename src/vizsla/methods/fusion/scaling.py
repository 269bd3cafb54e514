"""Score scalings of fused parts, and the sum that a trial stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vizsla.base.retriever import Retriever
from vizsla.compose.normalize import METHODS, Scaled
from vizsla.compose.weighted_sum import Sum
from vizsla.core.candidates import Candidates
from vizsla.typing import Float32Array

SCALING_RULES = ("linear", "exp")
LOG_SCALE = "log relevance"
"""The scale of scores that are logarithms: under the rule "exp" these become e^(slope · score), others stay linear."""
SPREAD_EXPONENT = 0.25
"""The exponent of a spread. Chosen on tldr's training clicks, BM25 with XR-Linear: the best mean of warm and cold
nDCG@10 is .390 so, .385 at 0.4, .384 at 0.5, .380 at 0.7 and .372 at 1; linear .380, zscore .374, minmax .367."""


class ScoreScaling(NamedTuple):
    """The arguments of a `Scaled`."""

    how: str
    slope: float
    height: float = 1.0

    def of(self, part: Retriever) -> Scaled:
        """Return the part under the rule."""
        return Scaled(part, self.how, slope=self.slope, height=self.height)


def rules_of(part: Retriever, found: Candidates) -> dict[str, ScoreScaling]:
    """Return a rule of either name under which a list of the part has a spread of 1, on the mean query.

    Parameters
    ----------
    part : Retriever
        Whose scores are scaled.
    found : Candidates
        Its answers to the held-out queries.
    """
    linear = ScoreScaling("linear", _inverse(_spread(found, found._required_scores())))
    if part.scale != LOG_SCALE:
        return {"linear": linear, "exp": linear}
    steep = ScoreScaling("exp", _rounded(SPREAD_EXPONENT * linear.slope))
    spread = _spread(found, steep.of(part).rescaled(found._required_scores()))
    return {"linear": linear, "exp": steep._replace(height=_inverse(spread))}


def _spread(found: Candidates, scores: Float32Array) -> float:
    """Return the standard deviation of a list, on the mean query that finds more than one item."""
    counts = np.diff(found.offsets)
    rows = np.repeat(np.arange(len(found)), counts)
    values = scores.astype(np.float64)
    means = np.bincount(rows, values, minlength=len(found)) / np.maximum(counts, 1)
    squares = np.bincount(rows, np.square(values - means[rows]), minlength=len(found))
    several = counts > 1
    return float(np.sqrt(squares[several] / counts[several]).mean()) if several.any() else 0.0


def _inverse(spread: float) -> float:
    return _rounded(1 / spread) if spread > 0 and np.isfinite(1 / spread) else 1.0


def _rounded(value: float) -> float:
    """Return a number that can be read."""
    return float(f"{value:.6g}")


UNSCALED = "none"
SCALING_NAMES = (UNSCALED, *METHODS, *SCALING_RULES)
"""How scores come to one scale: as they are, by what else was found for the query, or by a rule for all queries."""


class FusionTrial(NamedTuple):
    """Normalization, weights of the parts (which sum to 1), and the boost of items without clicks.

    Examples
    --------
    >>> FusionTrial("minmax", (0.75, 0.0, 0.25)).used
    (0, 2)
    """

    how: str
    weights: tuple[float, ...]
    lift: float = 0.0

    @property
    def used(self) -> tuple[int, ...]:
        """Which parts weigh anything."""
        return tuple(at for at, weight in enumerate(self.weights) if weight > 0)

    def composed(
        self,
        parts: Sequence[Retriever],
        rules: Sequence[dict[str, ScoreScaling]],
        *,
        depth: int,
        lifted: Retriever | None = None,
    ) -> Retriever:
        """Return the weighted sum of the parts that weigh anything; a single one is returned as it is.

        Parameters
        ----------
        parts : sequence of Retriever
            All parts, used or not.
        rules : sequence of dict
            For each part, the rules by which its scores are scaled, by name.
        depth : int
            How many candidates each contributes.
        lifted : Retriever, optional
            What gives items without clicks 1 and others 0, for a trial that lifts.
        """
        if len(self.used) == 1:
            return parts[self.used[0]]
        terms = [(self.weights[at], self._scaled(parts[at], rules[at], depth)) for at in self.used]
        return Sum(terms if lifted is None else [*terms, (self.lift, lifted)], depth=depth)

    def _scaled(self, part: Retriever, rules: dict[str, ScoreScaling], depth: int) -> Retriever:
        if self.how in METHODS:
            return part.normalized(self.how, depth=depth)
        return part if self.how == UNSCALED else rules[self.how].of(part)


def alone(part: int, parts: int) -> FusionTrial:
    """Return the trial of one part by itself.

    Examples
    --------
    >>> alone(1, 3)
    FusionTrial(how='none', weights=(0.0, 1.0, 0.0), lift=0.0)
    """
    return FusionTrial(UNSCALED, tuple(float(at == part) for at in range(parts)))
