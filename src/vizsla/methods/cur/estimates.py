"""Estimates: what is believed of every item's score, for some queries, as their scores come in."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from vizsla.methods.cur.factors import Factors
from vizsla.methods.cur.span import Span

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Items = NDArray[np.int64]


class Estimates(ABC):
    """Scores of all items for each of some queries, the better the more exact scores were added."""

    @abstractmethod
    def add(self, row: int, items: Items, scores: Floats) -> None:
        """Learn exact scores of items for one query."""

    @abstractmethod
    def scores(self) -> Floats:
        """Return the estimates now: queries × items."""

    def prior(self) -> Floats | None:
        """Return what was believed before any score, where anything was."""
        return None

    def features(self) -> Floats:
        """Return what is known of the items for these queries only: queries × features × items."""
        raise NotImplementedError


class CurEstimates(Estimates):
    """CUR: a query's scores are the combination of anchor queries' scores that fits what is known.

    Parameters
    ----------
    factors : Factors
        The anchor queries' scores.
    queries : int
        How many queries there are.
    """

    def __init__(self, factors: Factors, queries: int):
        self._factors = factors
        self._spans = [Span(factors.dim) for _ in range(queries)]

    def add(self, row: int, items: Items, scores: Floats) -> None:
        """Add the items as columns of the query's equations."""
        self._spans[row].add(self._factors.columns(items), scores)

    def scores(self) -> Floats:
        """Return the combinations, for all items."""
        return self._factors.products(np.array([span.weights() for span in self._spans], np.float32))


class RidgeEstimates(Estimates):
    """Ridge regression on the items' factors and on the query's own features: 1 and its retrievers' scores.

    The weights are pulled towards their mean over the anchor queries, each as strongly as it is steady over them.

    Parameters
    ----------
    factors : Factors
        A column an item; the mean of its weights is 0.
    own : float32 array, queries × features × items
        What is known of the items for these queries only.
    mean : float64 array
        The expected weights of the own features.
    penalty : float64 array
        How strongly each weight is pulled to its mean: first those of the factors, then those of the own features.
    """

    def __init__(self, factors: Factors, own: Floats, mean: Doubles, penalty: Doubles):
        self._factors, self._own = factors, own
        self._prior = combined(own, mean)
        size = factors.dim + own.shape[1]
        self._gram = np.broadcast_to(np.diag(penalty), (len(own), size, size)).copy()
        self._right = np.zeros((len(own), size))

    def add(self, row: int, items: Items, scores: Floats) -> None:
        """Add the items to the query's normal equations."""
        features = np.concatenate([self._factors.columns(items), self._own[row][:, items].T], axis=1).astype(np.float64)
        self._gram[row] += features.T @ features
        self._right[row] += features.T @ (scores - self._prior[row, items])

    def scores(self) -> Floats:
        """Return the prior and what the regression adds, for all items."""
        if not self._right.any():
            return self._prior
        weights = solved(self._gram, self._right).astype(np.float32)
        found = self._factors.products(weights[:, : self._factors.dim])
        for feature in range(self._own.shape[1]):
            found += weights[:, self._factors.dim + feature, None] * self._own[:, feature]
        return np.asarray(self._prior + found, np.float32)

    def prior(self) -> Floats:
        """Return the fit of the retrievers' scores."""
        return self._prior

    def features(self) -> Floats:
        """Return 1 and the retrievers' scores."""
        return self._own


def solved(gram: Doubles, right: Doubles) -> Doubles:
    """Return each query's weights; where its equations do not settle them, the shortest that fit; else none.

    Examples
    --------
    >>> solved(np.array([[[2.0, 0.0], [0.0, 4.0]]]), np.array([[2.0, 2.0]])).tolist()
    [[1.0, 0.5]]
    >>> solved(np.array([[[2.0, 0.0], [0.0, 0.0]]]), np.array([[2.0, 0.0]])).tolist()
    [[1.0, 0.0]]
    """
    try:
        found = np.linalg.solve(gram, right[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        known = np.where(np.isfinite(gram), gram, 0.0)
        found = (np.linalg.pinv(known, hermitian=True) @ right[:, :, None])[:, :, 0]
    return np.where(np.isfinite(found), found, 0.0)


class PooledEstimates(Estimates):
    """Estimates of queries that each have items of their own, under numbers of their own.

    Parameters
    ----------
    parts : list of Estimates
        One a query.
    """

    def __init__(self, parts: list[Estimates]):
        self._parts = parts

    def add(self, row: int, items: Items, scores: Floats) -> None:
        """Let the query's part learn."""
        self._parts[row].add(0, items, scores)

    def scores(self) -> Floats:
        """Return the parts' estimates."""
        return np.concatenate([part.scores() for part in self._parts])

    def features(self) -> Floats:
        """Return the parts' features."""
        return np.concatenate([part.features() for part in self._parts])

    def prior(self) -> Floats | None:
        """Return the parts' priors, where they have any."""
        priors = [part.prior() for part in self._parts]
        return None if priors[0] is None else np.concatenate([prior for prior in priors if prior is not None])


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
