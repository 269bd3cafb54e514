"""Inner products of given pairs, the same to the last bit however the pairs are grouped."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.candidates import Numbers, Scores
from vizsla.indexes.item_vectors import Floats, ItemVectors, blocks

BLOCK = 1 << 20
"""Numbers decoded at once; the result does not depend on it."""


def pair_dots(queries: Floats, rows: NDArray[np.int64], vectors: ItemVectors, items: Numbers) -> Scores:
    """Return ``queries[rows[i]] · vectors[items[i]]`` for every i.

    BLAS adds in an order that depends on the shape of the whole product, so a score would change with the batch. Here
    products are made and added in float64, row by row in one fixed order, and rounded once.

    Examples
    --------
    >>> pair_dots(np.eye(2, dtype="f"), np.array([0, 1, 1]), ItemVectors.of([[1, 2], [3, 4]]), np.array([1, 1, 0], "i"))
    array([3., 4., 2.], dtype=float32)
    """
    queries, rows = np.ascontiguousarray(queries, np.float32), np.ascontiguousarray(rows, np.int64)
    items = np.ascontiguousarray(items, np.int32)
    stored = vectors.rows
    if stored.dtype == np.float32 and stored.flags.c_contiguous:
        return _dots(queries, rows, stored, items)
    scores = np.empty(len(items), np.float32)
    for start, end in blocks(len(items), vectors.dim, size=BLOCK):
        taken = np.ascontiguousarray(vectors.take(items[start:end]))
        scores[start:end] = _dots(queries, rows[start:end], taken, np.arange(end - start, dtype=np.int32))
    return scores


def _dots(queries: Floats, rows: NDArray[np.int64], vectors: Floats, items: Numbers) -> Scores:
    scores: Any = _native.pair_dots(queries, rows, vectors, items)
    return np.frombuffer(scores, np.float32)
