"""Search and scores over codes, in the native core."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.candidates import Numbers, Scores
from vizsla.indexes.flat_search import Found
from vizsla.indexes.item_vectors import Floats
from vizsla.indexes.pq_codebook import Codebook
from vizsla.indexes.pq_codes import PqCodes


def pq_tables(queries: Floats, book: Codebook) -> Floats:
    """Return each query's inner product with every centroid: queries × sub-spaces × centroids.

    Products are added in float64, in the order of the dimensions, and rounded once.
    """
    raw: Any = _native.pq_tables(queries, book.rotation, book.transposed)
    return np.frombuffer(raw, np.float32).reshape(len(queries), *book.centroids.shape[:2])


def pq_search(
    queries: Floats, book: Codebook, codes: PqCodes, k: int, numbers: Numbers | None = None, *, threads: int = 1
) -> Found:
    """Return the best `k` of every query among all items, or among `numbers`, which ascend.

    Where registers can hold a table, codes are scanned with tables rounded to bytes. By how much that can push two
    items past each other is known for each query; whoever is within it of the k-th best is scored from the tables
    themselves.
    """
    offsets, items, scores, reads = _native.pq_search(
        queries, book.rotation, book.transposed, codes.stored, len(codes), k, numbers, threads
    )
    return Found(
        np.frombuffer(offsets, np.int64), np.frombuffer(items, np.int32), np.frombuffer(scores, np.float32), reads
    )


def pq_pairs(queries: Floats, rows: NDArray[np.int64], book: Codebook, codes: PqCodes, items: Numbers) -> Scores:
    """Return the score of ``items[i]`` for ``queries[rows[i]]``, for every i."""
    rows, items = np.ascontiguousarray(rows, np.int64), np.ascontiguousarray(items, np.int32)
    raw: Any = _native.pq_pairs(queries, book.rotation, book.transposed, codes.stored, len(codes), rows, items)
    return np.frombuffer(raw, np.float32)
