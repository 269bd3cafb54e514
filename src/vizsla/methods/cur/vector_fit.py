"""A fit without anchors: regression on item vectors that are there already, as in AXN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla.encoded import Encoded
from vizsla.encoders.vectors import Vectors
from vizsla.errors import InputError
from vizsla.indexes.dense_index import DenseIndex
from vizsla.indexes.grouped import GroupedIndex
from vizsla.indexes.inverted import InvertedIndex
from vizsla.linalg.svd import right_singular_vectors
from vizsla.methods.cur.factors import Factors
from vizsla.methods.cur.residual_fit import ResidualFit
from vizsla.strings import Strings

if TYPE_CHECKING:
    from scipy.sparse import csr_array

RIDGE = 0.1
"""Pull to zero, where item vectors have length 1 on average: a plain start, not tuned on any data."""
DIMENSIONS = 256
"""What is kept of sparse rows: as many as the largest rank that anchors are tried with."""
ROUNDS = 3
"""Passes that sharpen these dimensions."""
LOOSE = 1e6
"""Variance of the retrievers' weights: nothing is known of them before a query's own scores."""


def fit_vectors(
    vectors: NDArray[Any], retrievers: int, *, ridge: float = RIDGE, storage: str = "float32"
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
    return ResidualFit(mean, np.full(len(mean), LOOSE), 1.0, factors, 1, ridge, np.ones(retrievers))


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
    rows = _item_rows(source.index, len(source.items)) if isinstance(source, Encoded) else None
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
    return np.asarray(rows @ right_singular_vectors(rows, DIMENSIONS, rounds=ROUNDS, seed=0), np.float32)
