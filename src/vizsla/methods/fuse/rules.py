"""Rules that scale a part's scores alike for all queries, read from what it finds for the held-out ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vizsla.candidates import Candidates, Scores
from vizsla.compose.scaled import Scaled
from vizsla.retriever import Retriever

RULES = ("linear", "exp")
LOGARITHM = "log relevance"
"""The scale of scores that are logarithms: under the rule "exp" these become e^(slope · score), others stay linear."""
STEEPNESS = 0.25
"""The exponent of a spread. Chosen on tldr's training clicks, BM25 with XR-Linear: the best mean of warm and cold
nDCG@10 is .390 so, .385 at 0.4, .384 at 0.5, .380 at 0.7 and .372 at 1; linear .380, zscore .374, minmax .367."""


class Rule(NamedTuple):
    """A rule as `Scaled` takes it."""

    how: str
    slope: float
    height: float = 1.0

    def of(self, part: Retriever) -> Scaled:
        """Return the part under the rule."""
        return Scaled(part, self.how, slope=self.slope, height=self.height)


def rules_of(part: Retriever, found: Candidates) -> dict[str, Rule]:
    """Return a rule of either name under which a list of the part has a spread of 1, on the mean query.

    Parameters
    ----------
    part : Retriever
        Whose scores are scaled.
    found : Candidates
        What it found for the held-out queries.
    """
    linear = Rule("linear", _inverse(_spread(found, found._required_scores())))
    if part.scale != LOGARITHM:
        return {"linear": linear, "exp": linear}
    steep = Rule("exp", _rounded(STEEPNESS * linear.slope))
    spread = _spread(found, steep.of(part).rescaled(found._required_scores()))
    return {"linear": linear, "exp": steep._replace(height=_inverse(spread))}


def _spread(found: Candidates, scores: Scores) -> float:
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
