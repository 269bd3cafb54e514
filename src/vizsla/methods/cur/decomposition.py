"""The anchors' scores taken apart: what retrievers explain, and dimensions in which the rest is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError
from vizsla.methods.cur.factors import Factors
from vizsla.methods.cur.leaning import fit_leaning, level
from vizsla.methods.cur.residual_fit import ResidualFit

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
BASES = ("residual", "scores")
"""Of what the dimensions are the leading ones. Retrievers that know much leave a simple residual. One that knows little
leaves the scores with its own noise in them, query by query: then the scores themselves are the simpler ones."""


@dataclass(frozen=True)
class Decomposition:
    """A residual fit before its rank and ridge are settled.

    Parameters
    ----------
    mean, spread, noise, explained
        As in `ResidualFit`.
    weights : float64 array, anchor queries × dimensions
        Of which the residual is made, or nearly; the leading dimensions come first.
    factors : float32 array, dimensions × items
        The dimensions.
    seen : list of float64 arrays, anchor queries × dimensions
        What each retriever favours of every anchor query, told by the other anchors.
    """

    mean: Doubles
    spread: Doubles
    noise: float
    explained: Doubles
    weights: Doubles
    factors: Floats
    seen: list[Doubles]

    def fit(self, rank: int, ridge: float, storage: str = "float32") -> ResidualFit:
        """Keep `rank` dimensions."""
        kept, weights = Factors.of(self.factors[:rank], storage), self.weights[:, :rank]
        sizes = np.linalg.norm(self.factors[:rank].astype(np.float64), axis=1)
        leaning = None
        if self.seen and len(weights) > 1:
            leaning = fit_leaning(weights, np.concatenate([part[:, :rank] for part in self.seen], axis=1), sizes)
        anchors = len(weights)
        return ResidualFit(self.mean, self.spread, self.noise, kept, anchors, ridge, self.explained, leaning)


class Dimensions(NamedTuple):
    """Weights, factors and what retrievers favour, as `Decomposition` has them."""

    weights: Doubles
    factors: Floats
    seen: list[Doubles]


def decomposed(scores: Floats, own: Floats, rank: int, basis: str = "residual") -> Decomposition:
    """Fit the retrievers' scores to the anchors', and find dimensions for what is left.

    Parameters
    ----------
    scores : float32 array, anchor queries × items
        Exact scores.
    own : float32 array, anchor queries × retrievers × items
        The retrievers' scores.
    rank : int
        The most dimensions that will be kept.
    basis : {"residual", "scores"}
        Of what they are the leading ones.
    """
    features = with_ones(own)
    mean, spread = _weights(scores, features)
    residual = scores - combined(features, mean)
    found = _of_residual(residual, own, rank) if basis == "residual" else _of_scores(scores, residual, own, rank)
    explained = np.array([_explained(scores, own[:, one : one + 1]) for one in range(own.shape[1])])
    return Decomposition(mean, spread, float(np.mean(residual**2)), explained, *found)


def _of_residual(residual: Floats, own: Floats, rank: int) -> Dimensions:
    weights = leading(residual, rank)
    factors = np.asarray(weights.T.astype(np.float32) @ residual, np.float32)
    return Dimensions(weights, factors, [_seen(residual, own[:, one], weights) for one in range(own.shape[1])])


def _of_scores(scores: Floats, residual: Floats, own: Floats, rank: int) -> Dimensions:
    """The items' means come first, which retrievers tell nothing of, then what scores are around them.

    A mean is scaled as if it were a leading dimension, so that its weights are as large as those of others.
    """
    usual = scores.mean(axis=0, dtype=np.float64)
    around = np.asarray(scores - usual, np.float32)
    left = leading(around, rank - 1)
    first = np.sqrt(len(scores)) * (usual - usual.mean())
    factors = np.concatenate([first[None].astype(np.float32), left.T.astype(np.float32) @ around])
    products = (factors @ factors.T).astype(np.float64), (factors @ residual.T).astype(np.float64)
    weights = np.linalg.lstsq(*products, rcond=1e-9)[0].T
    untold = np.zeros((len(scores), 1))
    seen = [np.concatenate([untold, _seen(around, own[:, one], left)], axis=1) for one in range(own.shape[1])]
    return Dimensions(weights, factors, seen)


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


def leading(matrix: Floats, rank: int) -> Doubles:
    """Return the leading left singular vectors: at most `rank` columns.

    Examples
    --------
    >>> abs(leading(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32), 1)).tolist()
    [[1.0], [0.0]]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        products = np.asarray(matrix @ matrix.T, np.float64)
    if not np.isfinite(products).all():
        raise InputError("`anchors` must have scores whose products are finite. Got larger ones: scale them.")
    _, vectors = np.linalg.eigh(products)
    return np.asarray(vectors[:, ::-1][:, :rank])


def _seen(residual: Floats, own: Floats, weights: Doubles) -> Doubles:
    """Return what a retriever favours of every anchor query, in the factors that the other anchors alone would give."""
    liked = np.asarray(residual @ level(own).T, np.float64)  # by one query's residual, of another's retriever
    np.fill_diagonal(liked, 0.0)
    return np.asarray(liked.T @ weights)


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
