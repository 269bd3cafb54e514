"""Hard negatives from a search with the current parameters, and synthetic queries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.learning.code_scores import CodeScores, QueryTables
from vizsla.learning.data import Positives
from vizsla.typing import Float32Array, Int32Array

DIMENSIONS_PER_SCANNED_CODE = 8
"""A scan adds a number a code where a product multiplies `dim`: it pays up to an eighth."""
NUMBERS_PER_BLOCK = 1 << 23
"""Numbers decoded at once, at most: what bounds the memory, never the answer."""


def mine_hard_negatives(scores: CodeScores, asked: QueryTables, k: int, *, but: Int32Array) -> Int32Array:
    """Return the `k` best items of every query, best first, leaving out some.

    Codes are scanned with the centroids as they are, or decoded and multiplied a block at a time, whichever is less
    work: nothing of an earlier step is left in the answer.

    Parameters
    ----------
    scores : CodeScores
        Codes, centroids and adapter.
    asked : Asked
        A batch of queries.
    k : int
        How many; at most the items that are left for every query.
    but : int32 array, queries × items
        Items to exclude, such as relevant ones; -1 is padding.
    """
    if scores.stored is not None and scores.subspaces * DIMENSIONS_PER_SCANNED_CODE <= scores.dim:
        return _scanned(scores, scores.stored, asked, k, but)
    return _multiplied(scores, asked, k, but)


def _scanned(scores: CodeScores, stored: NDArray[np.uint8], asked: QueryTables, k: int, but: Int32Array) -> Int32Array:
    """Search natively for as many more as may have to be left out."""
    centroids = np.ascontiguousarray(scores.centroids.transpose(0, 2, 1))
    most = min(k + but.shape[1], scores.items)
    arrays = np.ascontiguousarray(asked.rotated), None, centroids, stored, scores.items
    _, found, _, _ = _native.pq_search(*arrays, most, None, 1)
    items = np.frombuffer(found, np.int32).reshape(len(but), most)
    out = np.zeros(items.shape, np.bool_)
    for column in but.T:  # a column at a time: one query may have hundreds
        out |= items == column[:, None]
    order = np.argsort(out, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(items, order, axis=1)


def _multiplied(scores: CodeScores, asked: QueryTables, k: int, but: Int32Array) -> Int32Array:
    block = max(k + but.shape[1], NUMBERS_PER_BLOCK // max(1, scores.subspaces * scores.width))
    best: list[tuple[Int32Array, NDArray[np.float32]]] = []
    for first in range(0, scores.items, block):
        last = min(first + block, scores.items)
        found = asked.rotated @ scores.decoded(first, last).T
        rows, columns = np.nonzero((but >= first) & (but < last))
        found[rows, but[rows, columns] - first] = -np.inf
        best.append(_top(found, min(k, last - first), first))
    items, values = (np.concatenate(parts, axis=1) for parts in zip(*best, strict=True))
    order = np.argsort(-values, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(items, order, axis=1)


def _top(found: NDArray[np.float32], k: int, first: int) -> tuple[Int32Array, NDArray[np.float32]]:
    chosen = np.argpartition(found, found.shape[1] - k, axis=1)[:, found.shape[1] - k :]
    chosen.sort(axis=1)  # equal scores: the lower number first
    return (chosen + first).astype(np.int32), np.take_along_axis(found, chosen, axis=1)


class SyntheticQueries:
    """Synthetic queries for items without clicks, at the offsets at which real queries lie from their items.

    Every item may be drawn, clicked or not, so that training on clicks does not forget those without.

    Parameters
    ----------
    vectors : float32 array, items × dimensions
        The items, uncompressed or as far as they are kept.
    rows : float32 array, queries × dimensions
        Queries' vectors, of length 1.
    relevant : Positives
        Clicked items of the queries.

    Examples
    --------
    >>> vectors, rows = np.eye(2, dtype=np.float32), np.array([[0.8, 0.6]], np.float32)
    >>> clicks = Positives(np.array([[0]], np.int32), np.ones((1, 1), np.float32))
    >>> drawn, items = SyntheticQueries(vectors, rows, clicks).draw(1, np.random.default_rng(3))
    >>> items.tolist(), [round(float(number), 2) for number in drawn[0]]
    ([1], [-0.12, 0.99])
    """

    def __init__(self, vectors: Float32Array, rows: Float32Array, relevant: Positives):
        self.vectors = vectors
        queries, places = np.nonzero(relevant.weights)
        self._queries, self._items, self._rows = queries, relevant.items[queries, places], rows

    def draw(self, count: int, pick: np.random.Generator) -> tuple[Float32Array, NDArray[np.int32]]:
        """Return some synthetic queries, of length 1, and the item that each one is about."""
        items = pick.integers(0, len(self.vectors), count).astype(np.int32)
        models = pick.integers(0, len(self._queries), count)
        moved = _units(self.vectors[self._items[models]])
        drawn = _units(self.vectors[items]) + self._rows[self._queries[models]] - moved
        return _units(drawn), items


def _units(rows: Float32Array) -> Float32Array:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1)[:, None], np.float32)
