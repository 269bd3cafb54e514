"""Inner products of given pairs, the same to the last bit however the pairs are grouped."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Numbers, Scores
from vizsla.indexes.item_vectors import ItemVectors, blocks

BLOCK = 1 << 20
"""Numbers multiplied at once; the result does not depend on it."""


def pair_dots(queries: NDArray[np.float32], rows: NDArray[np.int64], vectors: ItemVectors, items: Numbers) -> Scores:
    """Return ``queries[rows[i]] · vectors[items[i]]`` for every i.

    BLAS adds in an order that depends on the shape of the whole product, so a score would change with the batch. Here
    products are made and added in float64, row by row in NumPy's fixed order, and rounded once.
    """
    prices = np.empty(len(items), np.float32)
    for start, end in blocks(len(items), vectors.dim, size=BLOCK):
        left, right = queries[rows[start:end]], vectors.take(items[start:end])
        prices[start:end] = np.multiply(left, right, dtype=np.float64).sum(axis=1)
    return prices
