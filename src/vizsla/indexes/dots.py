"""Inner products of given pairs, the same to the last bit however the pairs are grouped."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.candidates import Numbers, Scores
from vizsla.indexes.item_vectors import Floats, ItemVectors


def pair_dots(queries: Floats, rows: NDArray[np.int64], vectors: ItemVectors, items: Numbers) -> Scores:
    """Return ``queries[rows[i]] · vectors[items[i]]`` for every i.

    A matrix product adds in an order that depends on its shape, so a score would change with the batch. Here products
    are made and added in float64, row by row in one fixed order, and rounded once.

    Examples
    --------
    >>> pair_dots(np.eye(2, dtype="f"), np.array([0, 1, 1]), ItemVectors.of([[1, 2], [3, 4]]), np.array([1, 1, 0], "i"))
    array([3., 4., 2.], dtype=float32)
    """
    queries, rows = np.ascontiguousarray(queries, np.float32), np.ascontiguousarray(rows, np.int64)
    items = np.ascontiguousarray(items, np.int32)
    scores: Any = _native.pair_dots(queries, rows, vectors.rows, vectors.low, vectors.step, items)
    return np.frombuffer(scores, np.float32)
