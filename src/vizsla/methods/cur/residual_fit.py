"""What retrievers know of an expensive score, and the factors of what they do not know."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vizsla.methods.cur.estimates import RidgeEstimates
from vizsla.methods.cur.factors import Factors

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
    """

    mean: Doubles
    spread: Doubles
    noise: float
    factors: Factors
    anchors: int
    ridge: float
    explained: Doubles

    def estimates(self, own: Floats, threads: int = 1) -> RidgeEstimates:
        """Return the estimates of queries of which only the retrievers' scores are known."""
        return RidgeEstimates(self.factors, own, self.mean, self.penalty(), threads)

    def cut(self, rank: int, ridge: float) -> ResidualFit:
        """Return the fit with fewer dimensions and another ridge."""
        return replace(self, factors=self.factors.head(rank), ridge=ridge)

    def over(self, factors: Factors) -> ResidualFit:
        """Return the fit with the factors of other items."""
        return replace(self, factors=factors)

    def penalty(self) -> Doubles:
        """Return noise over variance for each weight: that of Bayes' rule."""
        noise = max(self.ridge * self.noise, 1e-12)
        held = noise / np.maximum(self.spread, 1e-12)
        return np.concatenate([np.full(self.factors.dim, noise * self.anchors), np.minimum(held, 1e12)])


def with_ones(own: Floats) -> Floats:
    """Return features, queries × features × items, with one more before them that is 1."""
    ones = np.ones((len(own), 1, own.shape[2]), np.float32)
    return np.concatenate([ones, own], axis=1)


def combined(features: Floats, weights: Doubles) -> Floats:
    """Return the weighted sum of features, queries × features × items, feature by feature in one order.

    Examples
    --------
    >>> combined(np.array([[[1, 2], [3, 4]]], np.float32), np.array([1.0, 10.0])).tolist()
    [[31.0, 42.0]]
    """
    total = np.zeros((features.shape[0], features.shape[2]), np.float32)
    for feature, weight in enumerate(weights.astype(np.float32)):
        total += weight * features[:, feature]
    return total


def fit_residual(scores: Floats, own: Floats, *, rank: int, ridge: float, storage: str = "float32") -> ResidualFit:
    """Fit the retrievers' scores to the anchors', and decompose what is left.

    Parameters
    ----------
    scores : float32 array, anchor queries × items
        Exact scores.
    own : float32 array, anchor queries × retrievers × items
        The retrievers' scores.
    rank : int
        Dimensions of the factors.
    ridge : float
        Share of the residual that is taken for noise.
    storage : {"float32", "float16", "int8"}
        How factors are kept.
    """
    features = with_ones(own)
    mean, spread = _weights(scores, features)
    residual = scores - combined(features, mean)
    factors = Factors.of(leading(residual, rank), storage)
    explained = np.array([_explained(scores, own[:, one : one + 1]) for one in range(own.shape[1])])
    return ResidualFit(mean, spread, float(np.mean(residual**2)), factors, len(scores), ridge, explained)


def leading(matrix: Floats, rank: int) -> Floats:
    """Return the leading right singular vectors times their singular values: at most `rank` rows.

    Examples
    --------
    >>> abs(leading(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32), 1)).tolist()
    [[3.0, 4.0]]
    """
    _, vectors = np.linalg.eigh(np.asarray(matrix @ matrix.T, np.float64))
    return np.asarray(vectors[:, ::-1][:, :rank].T.astype(np.float32) @ matrix, np.float32)


def _weights(scores: Floats, features: Floats) -> tuple[Doubles, Doubles]:
    """Return the mean and the variance of each query's least-squares weights."""
    gram = np.matmul(features, features.transpose(0, 2, 1)).astype(np.float64)
    right = np.matmul(features, scores[:, :, None])[:, :, 0].astype(np.float64)
    size = gram.shape[1]
    together = np.linalg.pinv(gram.sum(axis=0)) @ right.sum(axis=0)
    held = gram + 1e-6 * np.trace(gram.mean(axis=0)) / size * np.eye(size)
    each = np.linalg.solve(held, (right - gram @ together)[:, :, None])[:, :, 0]
    return together, np.mean(each**2, axis=0)


def _explained(scores: Floats, own: Floats) -> float:
    features = with_ones(own)
    mean, _ = _weights(scores, features)
    left = scores - combined(features, mean)
    return float(np.clip(1 - left.var() / max(float(scores.var()), 1e-30), 0, 1))
