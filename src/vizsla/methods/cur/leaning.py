"""Leaning: what a query's weights will be, told by what its retrievers favour, before any call is made."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.linalg.blas_threads import blas_threads
from vizsla.methods.cur.factors import Factors

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
RIDGES = 10.0 ** np.arange(-3, 5)
"""What is tried as the ridge of the regression, times the mean square of what it is told."""
LEAST = 0.1
"""Share of the mean variance that every direction keeps, so that none is taken for certain."""


class Leaning(NamedTuple):
    """A linear map to a query's expected weights, and how surely the weights are held there.

    Parameters
    ----------
    told : float64 array, (1 + retrievers × dimensions) × dimensions
        The map.
    hold : float64 array, dimensions × dimensions
        The inverse of the covariance of what the map leaves open.
    """

    told: Doubles
    hold: Doubles

    @blas_threads(1)
    def weights(self, factors: Factors, own: Floats) -> Floats:
        """Return the expected weights of queries, of which the retrievers' scores of all items are given."""
        seen = with_constant(favoured(factors, own))
        return np.array([row @ self.told for row in seen], np.float32).reshape(len(own), factors.dim)


def favoured(factors: Factors, own: Floats) -> Doubles:
    """Return the factors of the items that each retriever favours, added up: queries × (retrievers × dimensions)."""
    parts = [factors.gathered(level(own[:, one])) for one in range(own.shape[1])]
    return np.concatenate([np.zeros((len(own), 0)), *parts], axis=1)


def level(scores: Floats) -> Floats:
    """Return each query's scores with mean 0 and length 1.

    Examples
    --------
    >>> level(np.array([[1.0, 1.0, 5.0, 5.0], [2.0, 2.0, 2.0, 2.0]], np.float32)).tolist()
    [[-0.5, -0.5, 0.5, 0.5], [0.0, 0.0, 0.0, 0.0]]
    """
    around = scores - scores.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(around, axis=1, keepdims=True)
    return np.asarray(around / np.where(lengths > 0, lengths, 1), np.float32)


def with_constant(seen: Doubles) -> Doubles:
    """Return what is told of each query, with a 1 before it: retrievers that tell nothing still leave the mean."""
    return np.concatenate([np.ones((len(seen), 1)), seen], axis=1)


def fit_leaning(weights: Doubles, seen: Doubles, sizes: Doubles) -> Leaning:
    """Regress anchor queries' weights on what their retrievers favour; the ridge is the best of leaving one out.

    One query is left out at a time in closed form: a prediction's error without it is its error with it, divided by
    what the query does not say of itself (1 minus the hat matrix's diagonal).

    Parameters
    ----------
    weights : float64 array, queries × dimensions
        What is to be told.
    seen : float64 array, queries × numbers
        What is known before any score.
    sizes : float64 array
        How much a dimension's weight moves the scores: errors are counted by it.

    Examples
    --------
    >>> seen = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> fit_leaning(2 * seen + 1, seen, np.ones(1)).told.round(1).tolist()
    [[1.0], [2.0]]
    """
    given = with_constant(seen)
    values, vectors = np.linalg.eigh(given @ given.T)
    values = np.maximum(values, 0)
    unit = float(np.mean(seen**2)) if seen.size else 1.0
    tried = [_left_out(weights, values, vectors, ridge * max(unit, 1e-30)) for ridge in RIDGES]
    best = int(np.argmin([np.sum((left * sizes) ** 2) for left in tried]))
    inner = (vectors / (values + RIDGES[best] * max(unit, 1e-30))) @ vectors.T
    return Leaning(given.T @ (inner @ weights), _hold(tried[best]))


def _left_out(weights: Doubles, values: Doubles, vectors: Doubles, ridge: float) -> Doubles:
    """Return each query's error when it alone is left out."""
    hat = (vectors * (values / (values + ridge))) @ vectors.T
    return np.asarray((weights - hat @ weights) / np.maximum(1 - np.diag(hat), 1e-6)[:, None])


def _hold(left: Doubles) -> Doubles:
    covariance = left.T @ left / len(left)
    least = LEAST * max(float(np.trace(covariance)) / len(covariance), 1e-30)
    return np.asarray(np.linalg.inv(covariance + least * np.eye(len(covariance))))
