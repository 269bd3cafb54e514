"""A fit without anchors: regression on item vectors that are there already, as in AXN."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.encoders.vectors import Vectors
from vizsla.errors import InputError
from vizsla.methods.cur.factors import Factors
from vizsla.methods.cur.residual_fit import ResidualFit
from vizsla.movable import Movable
from vizsla.strings import Strings

RIDGE = 0.1
"""Pull to zero, where item vectors have length 1 on average: a plain start, not tuned on any data."""
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
    """Return ids and vectors of a dense retriever or of Vectors."""
    if isinstance(source, Vectors):
        return source.ids, source.rows
    if isinstance(source, Movable) and not source.encoder.sparse:
        return source.items, np.asarray(source.item_rows())
    raise InputError(f"`vectors` must be Vectors or a dense retriever. Got {type(source).__name__}.")
