"""Estimate the scores of all items from those already bought."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.blas import blas_threads
from vizsla.core.candidates import Candidates
from vizsla.methods.cur.factors import Best, Factors, Own
from vizsla.methods.cur.least_squares import IncrementalLstsq, IncrementalRidge
from vizsla.typing import Float32Array, Float64Array, Int64Array

PAIRS_PER_READ = 1 << 14
"""Pairs whose factors are read at a time."""


class FinalWeights(NamedTuple):
    """Weights from which the estimate of any pair of a call follows; small enough to keep for all its queries.

    Parameters
    ----------
    weights : float32 array, queries × dimensions
        Weights of the items' factors.
    bias : float32 array
        A number a query.
    own : float32 array, queries × retrievers
        Weights of the retrievers' scores.
    """

    weights: Float32Array
    bias: Float32Array
    own: Float32Array

    @classmethod
    def joined(cls, parts: Sequence[FinalWeights]) -> FinalWeights:
        """Return the weights of several batches as one."""
        if not parts:
            return cls(np.zeros((0, 0), np.float32), np.zeros(0, np.float32), np.zeros((0, 0), np.float32))
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def pairs(self, factors: Factors, pairs: Candidates) -> Float64Array:
        """Return what factors tell of each pair, added in one order: the same in any company.

        Examples
        --------
        >>> one = FinalWeights(np.float32([[2.0]]), np.float32([0.5]), np.zeros((1, 0), np.float32))
        >>> asked = Candidates.from_rows([np.int32([2, 0])])
        >>> one.pairs(Factors.of(np.float32([[1.0, 2.0, 3.0]])), asked).tolist()
        [6.5, 2.5]
        """
        rows, found = pairs.row_numbers(), np.zeros(len(pairs.items))
        for start in range(0, len(rows), PAIRS_PER_READ):
            some = slice(start, start + PAIRS_PER_READ)
            columns = factors.columns(pairs.items[some])
            found[some] = np.sum(columns * self.weights[rows[some]], axis=1, dtype=np.float64)
        return found + self.bias[rows]

    def expected(self, retriever: int, pairs: Candidates, scores: Float32Array) -> Float64Array:
        """Return what a retriever's scores of the pairs add."""
        return np.asarray(self.own[pairs.row_numbers(), retriever] * scores.astype(np.float64))


class Estimates(ABC):
    """Estimated scores of all items for some queries, which improve with every exact score."""

    @abstractmethod
    def learn(self, chosen: Sequence[Int64Array], scores: Sequence[Float32Array]) -> None:
        """Learn exact scores of some items of each query."""

    @abstractmethod
    def scores(self) -> Float32Array:
        """Return the estimates now: queries × items."""

    @abstractmethod
    def best(self, free: NDArray[np.bool_], count: int) -> Best:
        """Return the free items with the best estimates, and these, for each query."""

    @abstractmethod
    def settled(self) -> FinalWeights:
        """Return the weights that the estimates are made of now."""

    def prior(self) -> Float32Array | None:
        """Return what was believed before any score, where anything was."""
        return None

    def prior_of(self, row: int, items: Int64Array) -> Float32Array:
        """Return what was believed of a query's items before any score; NaN where nothing was."""
        return np.full(len(items), np.nan, np.float32)

    def features(self) -> Float32Array:
        """Return what is known of the items for these queries only: queries × features × items."""
        raise NotImplementedError


class FactorEstimates(Estimates):
    """Estimates over columns of factors, which are read once per round for all queries.

    Parameters
    ----------
    factors : Factors
        A column an item.
    threads : int
        For the products with all items.
    """

    def __init__(self, factors: Factors, threads: int):
        self._factors, self._threads = factors, threads

    @blas_threads(1)  # whatever `threads` is: sums that BLAS splits have other last bits
    def learn(self, chosen: Sequence[Int64Array], scores: Sequence[Float32Array]) -> None:
        """Read the columns of all items, and let each query learn its own; infinite scores teach nothing."""
        chosen, scores = _finite(chosen, scores)
        edges = np.cumsum([0, *map(len, chosen)]).tolist()
        columns = self._factors.columns(np.concatenate([np.zeros(0, np.int64), *chosen]))
        for row, (items, known) in enumerate(zip(chosen, scores, strict=True)):
            if len(items):
                self._add(row, items, columns[edges[row] : edges[row + 1]], known)

    def scores(self) -> Float32Array:
        """Return the estimates now: queries × items."""
        factors, weights, own = self._weights()
        return factors.products(weights, own, threads=self._threads)

    def best(self, free: NDArray[np.bool_], count: int) -> Best:
        """Return the free items with the best estimates, and these, for each query."""
        factors, weights, own = self._weights()
        return factors.best(weights, free, count, own, threads=self._threads)

    def settled(self) -> FinalWeights:
        """Return the weights that the estimates are made of now."""
        _, weights, own = self._weights()
        _, told, bias = Own.none(len(weights), 0) if own is None else own
        return FinalWeights(weights, bias, told)

    @abstractmethod
    def _add(self, row: int, items: Int64Array, columns: Float32Array, scores: Float32Array) -> None:
        """Learn exact scores of items, whose columns are given, for one query."""

    @abstractmethod
    def _weights(self) -> tuple[Factors, Float32Array, Own | None]:
        """Return factors, each query's weights of them, and what is added for the query alone."""


class CurEstimates(FactorEstimates):
    """CUR: a query's scores are the combination of anchor queries' scores that fits what is known.

    Parameters
    ----------
    factors : Factors
        The anchor queries' scores.
    queries : int
        How many queries there are.
    threads : int
        For the products with all items.
    ridge : float
        The ridge: added to the squares of singular values; 0 for the pseudo-inverse.
    """

    def __init__(self, factors: Factors, queries: int, threads: int = 1, *, ridge: float = 0.0):
        super().__init__(factors, threads)
        dim = factors.dim
        self._spans = [IncrementalRidge(dim, ridge) if ridge > 0 else IncrementalLstsq(dim) for _ in range(queries)]

    def _add(self, row: int, items: Int64Array, columns: Float32Array, scores: Float32Array) -> None:
        self._spans[row].add(columns, scores)

    @blas_threads(1)
    def _weights(self) -> tuple[Factors, Float32Array, Own | None]:
        return self._factors, np.array([span.weights() for span in self._spans], np.float32), None


class RidgeEstimates(FactorEstimates):
    """Ridge regression on the items' factors, on 1 and on the query's own features, its retrievers' scores.

    The weights are pulled towards their mean over the anchor queries, each as strongly as it is steady over them.

    Parameters
    ----------
    factors : Factors
        A column an item; the mean of its weights is 0.
    own : float32 array, queries × features × items
        Features of the items that differ by query.
    mean : float64 array
        The expected weights of 1 and of the own features.
    penalty : float64 array, features × features
        How strongly weights are pulled to their means: those of the factors, that of 1, those of the own features.
    start : float32 array, queries × dimensions, optional
        The expected weights of the factors; 0 unless given.
    threads : int
        For the products with all items.
    """

    def __init__(
        self,
        factors: Factors,
        own: Float32Array,
        mean: Float64Array,
        penalty: Float64Array,
        start: Float32Array | None = None,
        threads: int = 1,
    ):
        super().__init__(factors, threads)
        self._own, self._mean = np.ascontiguousarray(own, np.float32), mean
        self._start = np.zeros((len(own), factors.dim), np.float32) if start is None else start
        self._gram = np.broadcast_to(penalty, (len(own), *penalty.shape)).copy()
        self._right = np.zeros((len(own), len(penalty)))

    def _add(self, row: int, items: Int64Array, columns: Float32Array, scores: Float32Array) -> None:
        own = self._own[row][:, items].T
        features = np.concatenate([columns, np.ones((len(items), 1)), own], axis=1).astype(np.float64)
        self._gram[row] += features.T @ features
        self._right[row] += features.T @ (scores - self._expected(row, items, columns))

    def _expected(self, row: int, items: Int64Array, columns: Float32Array) -> Float64Array:
        told = self._mean[0] + self._mean[1:] @ self._own[row][:, items]
        return np.asarray(told + columns @ self._start[row], np.float64)

    @blas_threads(1)
    def _weights(self) -> tuple[Factors, Float32Array, Own | None]:
        return self._moved(solved(self._gram, self._right))

    def _moved(self, found: Float64Array) -> tuple[Factors, Float32Array, Own | None]:
        """Return the weights that are so far from those that were expected."""
        dim = self._factors.dim
        weights = (found[:, dim:] + self._mean).astype(np.float32)
        own = Own(self._own, np.ascontiguousarray(weights[:, 1:]), np.ascontiguousarray(weights[:, 0]))
        return self._factors, (found[:, :dim] + self._start).astype(np.float32), own

    def prior(self) -> Float32Array:
        """Return what the retrievers' scores tell."""
        factors, weights, own = self._moved(np.zeros_like(self._right))
        return factors.products(weights, own, threads=self._threads)

    @blas_threads(1)
    def prior_of(self, row: int, items: Int64Array) -> Float32Array:
        """Return what the retrievers' scores tell of some items."""
        return self._expected(row, items, self._factors.columns(items)).astype(np.float32)

    def features(self) -> Float32Array:
        """Return the retrievers' scores."""
        return self._own


def _finite(
    chosen: Sequence[Int64Array], scores: Sequence[Float32Array]
) -> tuple[list[Int64Array], list[Float32Array]]:
    kept = [np.isfinite(known) for known in scores]
    return [items[k] for items, k in zip(chosen, kept, strict=True)], [s[k] for s, k in zip(scores, kept, strict=True)]


def solved(gram: Float64Array, right: Float64Array) -> Float64Array:
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
    """Estimates of queries with separate item pools.

    Parameters
    ----------
    parts : list of Estimates
        One a query.
    """

    def __init__(self, parts: list[Estimates]):
        self._parts = parts

    def learn(self, chosen: Sequence[Int64Array], scores: Sequence[Float32Array]) -> None:
        """Let each query's part learn."""
        for part, items, known in zip(self._parts, chosen, scores, strict=True):
            part.learn([items], [known])

    def scores(self) -> Float32Array:
        """Return the parts' estimates."""
        return np.concatenate([part.scores() for part in self._parts])

    def best(self, free: NDArray[np.bool_], count: int) -> Best:
        """Return the best of each part."""
        return [part.best(free[row : row + 1], count)[0] for row, part in enumerate(self._parts)]

    def settled(self) -> FinalWeights:
        """Return the parts' weights."""
        return FinalWeights.joined([part.settled() for part in self._parts])

    def features(self) -> Float32Array:
        """Return the parts' features."""
        return np.concatenate([part.features() for part in self._parts])

    def prior(self) -> Float32Array | None:
        """Return the parts' priors, where they have any."""
        priors = [part.prior() for part in self._parts]
        return None if priors[0] is None else np.concatenate([prior for prior in priors if prior is not None])

    def prior_of(self, row: int, items: Int64Array) -> Float32Array:
        """Return what the query's part believed."""
        return self._parts[row].prior_of(0, items)
