"""The model of residual CUR: factors of what first-stage scores leave unexplained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.blas import blas_threads
from vizsla.base.index_retriever import IndexRetriever
from vizsla.core.linalg import right_singular_vectors
from vizsla.core.strings import Strings
from vizsla.encoders.vectors import Vectors
from vizsla.errors import FormatError, InputError
from vizsla.indexes.dense_index import DenseIndex
from vizsla.indexes.grouped import GroupedIndex
from vizsla.indexes.inverted import InvertedIndex
from vizsla.methods.cur.estimates import RidgeEstimates
from vizsla.methods.cur.factors import Factors
from vizsla.typing import Float32Array, Float64Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

REGRESSION_RIDGES = 10.0 ** np.arange(-3, 5)
"""What is tried as the ridge of the regression, times the mean square of what it is told."""
MIN_VARIANCE_SHARE = 0.1
"""Share of the mean variance that every direction keeps, so that none is taken for certain."""


class WeightPrior(NamedTuple):
    """A linear map to a query's expected weights, and their precision.

    Parameters
    ----------
    coef : float64 array, (1 + retrievers × dimensions) × dimensions
        The map.
    precision : float64 array, dimensions × dimensions
        The inverse of the covariance of what the map leaves open.
    """

    coef: Float64Array
    precision: Float64Array

    @blas_threads(1)
    def weights(self, factors: Factors, own: Float32Array) -> Float32Array:
        """Return the expected weights of queries, of which the retrievers' scores of all items are given."""
        seen = with_constant(favored(factors, own))
        return np.array([row @ self.coef for row in seen], np.float32).reshape(len(own), factors.dim)


def favored(factors: Factors, own: Float32Array) -> Float64Array:
    """Return the factors of the items that each retriever favors, added up: queries × (retrievers × dimensions)."""
    parts = [factors.gathered(standardize(own[:, one])) for one in range(own.shape[1])]
    return np.concatenate([np.zeros((len(own), 0)), *parts], axis=1)


def standardize(scores: Float32Array) -> Float32Array:
    """Return each query's scores with mean 0 and length 1.

    Examples
    --------
    >>> standardize(np.array([[1.0, 1.0, 5.0, 5.0], [2.0, 2.0, 2.0, 2.0]], np.float32)).tolist()
    [[-0.5, -0.5, 0.5, 0.5], [0.0, 0.0, 0.0, 0.0]]
    """
    around = scores - scores.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(around, axis=1, keepdims=True)
    return np.asarray(around / np.where(lengths > 0, lengths, 1), np.float32)


def with_constant(seen: Float64Array) -> Float64Array:
    """Return what is told of each query, with a 1 before it: retrievers that tell nothing still leave the mean."""
    return np.concatenate([np.ones((len(seen), 1)), seen], axis=1)


def fit_weight_prior(weights: Float64Array, seen: Float64Array, sizes: Float64Array) -> WeightPrior:
    """Regress anchor queries' weights on what their retrievers favor; the ridge is the best of leaving one out.

    One query is left out at a time in closed form: a prediction's error without it is its error with it, divided by
    what the query does not say of itself (1 minus the hat matrix's diagonal).

    Parameters
    ----------
    weights : float64 array, queries × dimensions
        The targets.
    seen : float64 array, queries × numbers
        Features known before any score.
    sizes : float64 array
        Weight of each dimension's error: how much it moves the scores.

    Examples
    --------
    >>> seen = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> fit_weight_prior(2 * seen + 1, seen, np.ones(1)).coef.round(1).tolist()
    [[1.0], [2.0]]
    """
    given = with_constant(seen)
    values, vectors = np.linalg.eigh(given @ given.T)
    values = np.maximum(values, 0)
    unit = float(np.mean(seen**2)) if seen.size else 1.0
    tried = [_left_out(weights, values, vectors, ridge * max(unit, 1e-30)) for ridge in REGRESSION_RIDGES]
    best = int(np.argmin([np.sum((left * sizes) ** 2) for left in tried]))
    inner = (vectors / (values + REGRESSION_RIDGES[best] * max(unit, 1e-30))) @ vectors.T
    return WeightPrior(given.T @ (inner @ weights), _hold(tried[best]))


def _left_out(weights: Float64Array, values: Float64Array, vectors: Float64Array, ridge: float) -> Float64Array:
    """Return each query's error when it alone is left out."""
    hat = (vectors * (values / (values + ridge))) @ vectors.T
    return np.asarray((weights - hat @ weights) / np.maximum(1 - np.diag(hat), 1e-6)[:, None])


def _hold(left: Float64Array) -> Float64Array:
    covariance = left.T @ left / len(left)
    least = MIN_VARIANCE_SHARE * max(float(np.trace(covariance)) / len(covariance), 1e-30)
    return np.asarray(np.linalg.inv(covariance + least * np.eye(len(covariance))))


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
    weight_prior : WeightPrior, optional
        The prior of a query's weights; 0 without it.
    """

    mean: Float64Array
    spread: Float64Array
    noise: float
    factors: Factors
    anchors: int
    ridge: float
    explained: Float64Array
    weight_prior: WeightPrior | None = None

    def estimates(self, own: Float32Array, threads: int = 1) -> RidgeEstimates:
        """Return the estimates of queries of which only the retrievers' scores are known."""
        start = None if self.weight_prior is None else self.weight_prior.weights(self.factors, own)
        return RidgeEstimates(self.factors, own, self.mean, self.penalty(), start, threads)

    def with_ridge(self, ridge: float) -> ResidualFit:
        """Return the fit with another ridge."""
        return replace(self, ridge=ridge)

    def over(self, factors: Factors) -> ResidualFit:
        """Return the fit with the factors of a query's own items; too few for its retrievers to tell its weights."""
        return replace(self, factors=factors, weight_prior=None)

    def penalty(self) -> Float64Array:
        """Return noise over the weights' variance, as a matrix: that of Bayes' rule."""
        noise, dim = max(self.ridge * self.noise, 1e-12), self.factors.dim
        held = np.minimum(noise / np.maximum(self.spread, 1e-12), 1e12)
        found = np.diag(np.concatenate([np.full(dim, noise * self.anchors), held]))
        if self.weight_prior is not None:
            found[:dim, :dim] = noise * self.weight_prior.precision
        return found


BASES = ("residual", "scores")
"""Of what the dimensions are the leading ones. Retrievers that know much leave a simple residual. One that knows little
leaves the scores with its own noise in them, query by query: then the scores themselves are the simpler ones."""


@dataclass(frozen=True)
class Decomposition:
    """A residual fit before the selection of rank and ridge.

    Parameters
    ----------
    mean, spread, noise, explained
        As in `ResidualFit`.
    weights : float64 array, anchor queries × dimensions
        Of which the residual is made, or nearly; the leading dimensions come first.
    factors : float32 array, dimensions × items
        The dimensions.
    seen : list of float64 arrays, anchor queries × dimensions
        Factors preferred by each retriever for every anchor query, predicted from the other anchors.
    """

    mean: Float64Array
    spread: Float64Array
    noise: float
    explained: Float64Array
    weights: Float64Array
    factors: Float32Array
    seen: list[Float64Array]

    def fit(self, rank: int, ridge: float, storage: str = "float32") -> ResidualFit:
        """Keep `rank` dimensions."""
        kept, weights = Factors.of(self.factors[:rank], storage), self.weights[:, :rank]
        sizes = np.linalg.norm(self.factors[:rank].astype(np.float64), axis=1)
        weight_prior = None
        if self.seen and len(weights) > 1:
            weight_prior = fit_weight_prior(
                weights, np.concatenate([part[:, :rank] for part in self.seen], axis=1), sizes
            )
        anchors = len(weights)
        return ResidualFit(self.mean, self.spread, self.noise, kept, anchors, ridge, self.explained, weight_prior)


class Dimensions(NamedTuple):
    """Weights, factors and what retrievers favor, as `Decomposition` has them."""

    weights: Float64Array
    factors: Float32Array
    seen: list[Float64Array]


def decomposed(scores: Float32Array, own: Float32Array, rank: int, basis: str = "residual") -> Decomposition:
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


def _of_residual(residual: Float32Array, own: Float32Array, rank: int) -> Dimensions:
    weights = leading(residual, rank)
    factors = np.asarray(weights.T.astype(np.float32) @ residual, np.float32)
    return Dimensions(weights, factors, [_seen(residual, own[:, one], weights) for one in range(own.shape[1])])


def _of_scores(scores: Float32Array, residual: Float32Array, own: Float32Array, rank: int) -> Dimensions:
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


def with_ones(own: Float32Array) -> Float32Array:
    """Return features, queries × features × items, with one more before them that is 1."""
    ones = np.ones((len(own), 1, own.shape[2]), np.float32)
    return np.concatenate([ones, own], axis=1)


def combined(features: Float32Array, weights: Float64Array) -> Float32Array:
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


def leading(matrix: Float32Array, rank: int) -> Float64Array:
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


def _seen(residual: Float32Array, own: Float32Array, weights: Float64Array) -> Float64Array:
    """Return what a retriever favors of every anchor query, in the factors that the other anchors alone would give."""
    liked = np.asarray(residual @ standardize(own).T, np.float64)  # by one query's residual, of another's retriever
    np.fill_diagonal(liked, 0.0)
    return np.asarray(liked.T @ weights)


def _weights(scores: Float32Array, features: Float32Array) -> tuple[Float64Array, Float64Array]:
    """Return the mean and the variance of each query's least-squares weights."""
    gram = np.matmul(features, features.transpose(0, 2, 1)).astype(np.float64)
    right = np.matmul(features, scores[:, :, None])[:, :, 0].astype(np.float64)
    size = gram.shape[1]
    together = np.linalg.pinv(gram.sum(axis=0)) @ right.sum(axis=0)
    held = gram + 1e-6 * np.trace(gram.mean(axis=0)) / size * np.eye(size)
    each = np.linalg.solve(held, (right - gram @ together)[:, :, None])[:, :, 0]
    return together, np.mean(each**2, axis=0)


def _explained(scores: Float32Array, own: Float32Array) -> float:
    features = with_ones(own)
    mean, _ = _weights(scores, features)
    left = scores - combined(features, mean)
    return float(np.clip(1 - left.var() / max(float(scores.var()), 1e-30), 0, 1))


UNTRAINED_RIDGE = 0.1
"""Pull to zero, where item vectors have length 1 on average: a plain start, not tuned on any data."""
MAX_DIMENSIONS = 256
"""What is kept of sparse rows: as many as the largest rank that anchors are tried with."""
POWER_ITERATIONS = 3
"""Passes that sharpen these dimensions."""
PRIOR_VARIANCE = 1e6
"""Variance of the retrievers' weights: nothing is known of them before a query's own scores."""


def fit_vectors(
    vectors: NDArray[Any], retrievers: int, *, ridge: float = UNTRAINED_RIDGE, storage: str = "float32"
) -> ResidualFit:
    """Return a fit whose factors are item vectors; estimates begin with the mean of the retrievers' scores.

    Examples
    --------
    >>> fit_vectors(np.eye(3), 1).factors.dim
    3
    """
    rows = np.asarray(vectors, np.float32)
    size = float(np.sqrt(np.mean(np.sum(rows**2, axis=1)))) or 1.0
    mean = np.concatenate([[0.0], np.full(retrievers, 1.0 / max(1, retrievers))])
    factors = Factors.of(rows.T / size, storage)
    return ResidualFit(mean, np.full(len(mean), PRIOR_VARIANCE), 1.0, factors, 1, ridge, np.ones(retrievers))


def vectors_of(source: Any) -> tuple[Strings, NDArray[Any]]:
    """Return ids and vectors of Vectors or of a retriever whose index holds some, or weights of terms.

    Examples
    --------
    >>> from vizsla import bm25
    >>> ids, rows = vectors_of(bm25({"a": "fig", "b": "fig", "c": "pear"}))
    >>> list(ids), rows.shape
    (['a', 'b', 'c'], (3, 2))
    """
    if isinstance(source, Vectors):
        return source.ids, source.rows
    rows = _item_rows(source.index, len(source.items)) if isinstance(source, IndexRetriever) else None
    if rows is None:
        wanted = "Vectors, or a retriever over vectors or weighted terms, such as a dense one, PEFA-XS, TF-IDF or SiDR"
        raise InputError(f"`vectors` must be {wanted}. Got {type(source).__name__}.")
    return source.items, rows


def _item_rows(index: Any, count: int) -> NDArray[Any] | None:
    if isinstance(index, GroupedIndex) and np.array_equal(index.owners[:count], np.arange(count)):
        index = index.index  # past queries' vectors, which stand for items too, follow after the items' own
    if isinstance(index, DenseIndex):
        return np.asarray(index.take(slice(0, count)))
    return _projected(index.to_csr()) if isinstance(index, InvertedIndex) else None


def _projected(rows: csr_array) -> NDArray[np.float32]:
    """Return sparse rows in their leading dimensions, where inner products are kept as well as they can be."""
    if not rows.nnz:
        return np.zeros((rows.shape[0], 1), np.float32)
    return np.asarray(rows @ right_singular_vectors(rows, MAX_DIMENSIONS, rounds=POWER_ITERATIONS, seed=0), np.float32)


STORED_ARRAYS = ("mean", "spread", "explained")


def write_fit(writer: ArtifactWriter, fit: ResidualFit) -> None:
    """Store weights, spreads and factors."""
    writer.parameters(noise=fit.noise, ridge=fit.ridge, anchors=fit.anchors, leaning=fit.weight_prior is not None)
    for name in STORED_ARRAYS:
        writer.array(name, getattr(fit, name))
    writer.child("factors", fit.factors)
    if fit.weight_prior is not None:
        writer.array("told", fit.weight_prior.coef)
        writer.array("hold", fit.weight_prior.precision)


def read_fit(reader: ArtifactReader) -> ResidualFit:
    """Return the fit; anything that no fit can be raises."""
    arrays = {name: reader.array(name, np.float64) for name in STORED_ARRAYS}
    noise, ridge = reader.parameter("noise", float), reader.parameter("ridge", float)
    anchors = reader.parameter("anchors", int)
    sound = all(np.isfinite(values).all() for values in arrays.values()) and np.isfinite([noise, ridge]).all()
    lengths = (len(arrays["mean"]), len(arrays["spread"]), len(arrays["explained"]) + 1)
    if not sound or len(set(lengths)) > 1 or not (noise >= 0 and ridge >= 0 and 0 < anchors < 2**31):
        raise FormatError(f"{reader.path}: the fit's numbers must be finite and belong together.")
    factors = reader.child("factors", Factors)
    weight_prior = (
        _weight_prior(reader, factors.dim, len(arrays["explained"])) if reader.parameter("leaning", bool) else None
    )
    return ResidualFit(factors=factors, noise=noise, ridge=ridge, anchors=anchors, weight_prior=weight_prior, **arrays)


def _weight_prior(reader: ArtifactReader, dim: int, retrievers: int) -> WeightPrior:
    found = WeightPrior(reader.array("told", np.float64, ndim=2), reader.array("hold", np.float64, ndim=2))
    shapes = found.coef.shape == (1 + retrievers * dim, dim) and found.precision.shape == (dim, dim)
    if not shapes or not all(np.isfinite(values).all() for values in found):
        raise FormatError(f"{reader.path}: what is told of weights must be finite, and as wide as the factors.")
    return found
