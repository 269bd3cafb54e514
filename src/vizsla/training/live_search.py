"""The best items under the adapter and the centroids as they are now: end-to-end negatives (Eq. 20 of JPQ)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.training.code_scores import Asked, CodeScores, Items

SCAN = 8
"""A scan adds a number a code where a product multiplies `dim`: it pays up to an eighth."""
BLOCK = 1 << 23
"""Numbers decoded at once, at most: what bounds the memory, never the answer."""


def live_search(scores: CodeScores, asked: Asked, k: int, *, but: Items) -> Items:
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
        What to leave out, such as relevant items; -1 is padding.
    """
    if scores.stored is not None and scores.parts * SCAN <= scores.dim:
        return _scanned(scores, scores.stored, asked, k, but)
    return _multiplied(scores, asked, k, but)


def _scanned(scores: CodeScores, stored: NDArray[np.uint8], asked: Asked, k: int, but: Items) -> Items:
    """Search natively for as many more as may have to be left out."""
    centroids = np.ascontiguousarray(scores.centroids.transpose(0, 2, 1))
    most = min(k + but.shape[1], scores.items)
    arrays = np.ascontiguousarray(asked.turned), None, centroids, stored, scores.items
    _, found, _, _ = _native.pq_search(*arrays, most, None, 1)
    items = np.frombuffer(found, np.int32).reshape(len(but), most)
    out = np.zeros(items.shape, np.bool_)
    for column in but.T:  # a column at a time: one query may have hundreds
        out |= items == column[:, None]
    order = np.argsort(out, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(items, order, axis=1)


def _multiplied(scores: CodeScores, asked: Asked, k: int, but: Items) -> Items:
    block = max(k + but.shape[1], BLOCK // max(1, scores.parts * scores.width))
    best: list[tuple[Items, NDArray[np.float32]]] = []
    for first in range(0, scores.items, block):
        last = min(first + block, scores.items)
        found = asked.turned @ scores.decoded(first, last).T
        rows, columns = np.nonzero((but >= first) & (but < last))
        found[rows, but[rows, columns] - first] = -np.inf
        best.append(_top(found, min(k, last - first), first))
    items, values = (np.concatenate(parts, axis=1) for parts in zip(*best, strict=True))
    order = np.argsort(-values, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(items, order, axis=1)


def _top(found: NDArray[np.float32], k: int, first: int) -> tuple[Items, NDArray[np.float32]]:
    chosen = np.argpartition(found, found.shape[1] - k, axis=1)[:, found.shape[1] - k :]
    chosen.sort(axis=1)  # equal scores: the lower number first
    return (chosen + first).astype(np.int32), np.take_along_axis(found, chosen, axis=1)
