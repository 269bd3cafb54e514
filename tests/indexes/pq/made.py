"""Vectors and indexes for the tests of codes, and what they must answer, in plain numpy."""

from __future__ import annotations

from functools import cache

import numpy as np

from vizsla.indexes.pq.pq_index import PqIndex


@cache
def vectors(count: int = 1500, dim: int = 24, seed: int = 0) -> np.ndarray:
    """Return clustered vectors with dimensions of very different size, as a PCA leaves them."""
    random = np.random.default_rng(seed)
    centers = random.standard_normal((12, dim))
    rows = centers[random.integers(0, 12, count)] + 0.7 * random.standard_normal((count, dim))
    return (rows * np.geomspace(3, 0.1, dim)).astype(np.float32)


@cache
def made(bits: int = 8, bytes: int = 6, *, opq: bool = True, count: int = 1500, dim: int = 24) -> PqIndex:
    """Return a small index."""
    return PqIndex.build(vectors(count, dim), bytes=bytes, bits=bits, opq=opq, rounds=2)


def twin_tables(index: PqIndex, queries: np.ndarray) -> np.ndarray:
    """Return tables, added one dimension after the other in float64."""
    book = index.codebook
    rotated = np.zeros((len(queries), book.wide), np.float32)
    rotated[:, : book.dim] = queries
    if book.rotation is not None:
        rotated = np.array([[lanes_dot(row, column) for column in book.rotation] for row in queries], np.float32)
    sums = np.zeros((len(queries), *book.centroids.shape[:2]))
    for at in range(book.width):
        pieces = rotated.reshape(len(queries), book.subspaces, book.width)[:, :, None, at].astype(np.float64)
        sums += pieces * book.centroids[None, :, :, at].astype(np.float64)
    return sums.astype(np.float32)


def lanes_dot(left: np.ndarray, right: np.ndarray) -> np.float32:
    """Return the inner product as the core defines it: eight sums side by side in float64, joined in halves."""
    products = left.astype(np.float64) * right.astype(np.float64)
    filled = np.zeros(-(-len(products) // 8) * 8)
    filled[: len(products)] = products
    sums = np.zeros(8)
    for lanes in filled.reshape(-1, 8):
        sums = sums + lanes
    while len(sums) > 1:
        sums = sums[: len(sums) // 2] + sums[len(sums) // 2 :]
    return np.float32(sums[0])


def twin_scores(index: PqIndex, queries: np.ndarray) -> np.ndarray:
    """Return every item's score for every query: float32, added in the order of the sub-spaces."""
    tables, codes = twin_tables(index, queries), index.codes
    scores = np.zeros((len(queries), len(index)), np.float32)
    for part in range(codes.shape[1]):
        scores += tables[:, part, codes[:, part]]
    return scores


def twin_best(scores: np.ndarray, k: int, allowed: np.ndarray | None = None) -> list[list[int]]:
    """Return the numbers of the best items, ties by number."""
    items = np.arange(scores.shape[1]) if allowed is None else np.flatnonzero(allowed)
    return [items[np.lexsort((items, -row[items]))][:k].tolist() for row in scores]
