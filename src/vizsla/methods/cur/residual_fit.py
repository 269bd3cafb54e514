"""What retrievers know of an expensive score, and the factors of what they do not know."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vizsla.methods.cur.estimates import RidgeEstimates
from vizsla.methods.cur.factors import Factors
from vizsla.methods.cur.leaning import Leaning

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class ResidualFit:
    """Weights of the retrievers, factors of the residual, and how strongly a query's weights are held.

    Parameters
    ----------
    mean : float64 array
        The weight of 1, then of each retriever's scores: the mean over the anchor queries.
    spread : float64 array
        The variance of these weights over the anchor queries.
    noise : float
        The variance of the residual.
    factors : Factors
        The residual's leading dimensions, such that weights have variance 1 / anchors.
    anchors : int
        How many anchor queries there were.
    ridge : float
        Share of the residual that is taken for noise.
    explained : float64 array
        The share of the variance that each retriever explains alone.
    leaning : Leaning, optional
        What a query's weights will be; around 0 without it.
    """

    mean: Doubles
    spread: Doubles
    noise: float
    factors: Factors
    anchors: int
    ridge: float
    explained: Doubles
    leaning: Leaning | None = None

    def estimates(self, own: Floats, threads: int = 1) -> RidgeEstimates:
        """Return the estimates of queries of which only the retrievers' scores are known."""
        start = None if self.leaning is None else self.leaning.weights(self.factors, own)
        return RidgeEstimates(self.factors, own, self.mean, self.penalty(), start, threads)

    def with_ridge(self, ridge: float) -> ResidualFit:
        """Return the fit with another ridge."""
        return replace(self, ridge=ridge)

    def over(self, factors: Factors) -> ResidualFit:
        """Return the fit with the factors of a query's own items; too few for its retrievers to tell its weights."""
        return replace(self, factors=factors, leaning=None)

    def penalty(self) -> Doubles:
        """Return noise over the weights' variance, as a matrix: that of Bayes' rule."""
        noise, dim = max(self.ridge * self.noise, 1e-12), self.factors.dim
        held = np.minimum(noise / np.maximum(self.spread, 1e-12), 1e12)
        found = np.diag(np.concatenate([np.full(dim, noise * self.anchors), held]))
        if self.leaning is not None:
            found[:dim, :dim] = noise * self.leaning.hold
        return found
