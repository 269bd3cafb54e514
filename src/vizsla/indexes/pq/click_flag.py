"""Marked codes: an index of codes that tells some items from the others, at the price of one bit an item.

One sub-space gives half of its centroids to the marked items and half to the others, and every vector gets one more
dimension, which is a length for the marked and 0 for the others. What a query holds there, marked items' scores gain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError
from vizsla.indexes._faiss import faiss_seed, faiss_threads, load_faiss
from vizsla.indexes.pq.codebook import Codebook, PqCodes
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.indexes.vectors import blocks
from vizsla.typing import BoolArray, Float32Array

FLAG_LENGTH = 4.0
"""The mark's length, in those of the longest piece: no vector is nearer to a centroid of the other half."""


def marked_index(index: PqIndex, vectors: Any, marks: BoolArray, *, seed: int = 0) -> PqIndex:
    """Return the index with some items marked: all sub-spaces but one, and their codes, stay as they are.

    Parameters
    ----------
    index : PqIndex
        The items' codes.
    vectors : float32 array, items × dimensions
        The vectors that were coded; one sub-space is coded again.
    marks : bool array
        Which items are marked.
    seed : int
        Fixes the first centroids.

    Examples
    --------
    >>> vectors = np.random.default_rng(0).standard_normal((400, 8), dtype=np.float32)
    >>> plain, marks = PqIndex.build(vectors, bytes=2, opq=False), np.arange(400) % 3 == 0
    >>> found = marked_index(plain, vectors, marks)
    >>> found.dim, np.array_equal(found.take(slice(None))[:, -1] > 0, marks)
    (9, True)
    """
    if len(vectors) != len(index) or marks.shape != (len(index),):
        raise InputError(f"`vectors` and `marks` must be of the index's {len(index)} items. Got others.")
    part = _least_varied(index.codebook)
    pieces = _pieces(index.codebook, vectors, part)
    half = index.codebook.centroids.shape[1] // 2
    found = [_clustered(pieces[marks == mark], half, seed) for mark in (False, True)]
    length = FLAG_LENGTH * max(float(np.sqrt((pieces**2).sum(axis=1)).max(initial=0.0)), 1e-6)
    codes = index.codes.copy()
    for mark, centroids in enumerate(found):
        chosen = marks == bool(mark)
        codes[chosen, part] = mark * half + _nearest(pieces[chosen], centroids)
    book = _widened(index.codebook, part, np.concatenate(found), length)
    return index._coded_anew(PqCodes.of(codes, bits=index.bits), book)


def mark_length(index: PqIndex) -> float:
    """Return what the last dimension of a marked item is; see `marked_index`."""
    return float(_marks(index).max())


def marked_centroids(index: PqIndex) -> BoolArray:
    """Return which centroids a marked item may have, sub-spaces × centroids: all but those of unmarked ones."""
    marks = _marks(index)
    return (marks > 0) | ~(marks > 0).any(axis=1, keepdims=True)


def _marks(index: PqIndex) -> Float32Array:
    """Return what each centroid says in the dimension of marks."""
    column = index.rotation[:, -1] if index.rotation is not None else np.zeros(index.codebook.wide, np.float32)
    marks: Float32Array = (index.coder.centroids * column.reshape(index.codebook.subspaces, 1, -1)).sum(axis=2)
    return marks


def _least_varied(book: Codebook) -> int:
    """Return the sub-space whose centroids lie nearest together: there fewer of them lose least."""
    return int(book.centroids.var(axis=1).sum(axis=1).argmin())


def _pieces(book: Codebook, vectors: Any, part: int) -> Float32Array:
    """Return every vector's piece in one sub-space, read in chunks."""
    here = slice(part * book.width, (part + 1) * book.width)
    pieces = np.empty((len(vectors), book.width), np.float32)
    for start, end in blocks(len(vectors), book.wide):
        pieces[start:end] = book.rotated(np.asarray(vectors[start:end], np.float32))[:, here]
    return pieces


def _clustered(pieces: Float32Array, count: int, seed: int) -> Float32Array:
    """Return `count` centroids of some pieces; where these are few, the pieces themselves."""
    if len(pieces) <= count:
        found = np.zeros((count, pieces.shape[1]), np.float32)
        found[: len(pieces)] = pieces
        return found
    faiss = load_faiss()
    with faiss_threads(1):
        means = faiss.Kmeans(pieces.shape[1], count, niter=25, seed=faiss_seed(seed), min_points_per_centroid=1)
        means.train(np.ascontiguousarray(pieces))
    return np.asarray(means.centroids, np.float32)


def _nearest(pieces: Float32Array, centroids: Float32Array) -> NDArray[np.int64]:
    found = np.empty(len(pieces), np.int64)
    squares = (centroids**2).sum(axis=1)
    for start, end in blocks(len(pieces), len(centroids)):
        found[start:end] = (squares - 2 * pieces[start:end] @ centroids.T).argmin(axis=1)
    return found


def _widened(book: Codebook, part: int, centroids: Float32Array, length: float) -> Codebook:
    """Give every sub-space one more dimension, of which only that of one part is used: by the second half there."""
    subspaces, count, width = book.centroids.shape
    wide = np.zeros((subspaces, count, width + 1), np.float32)
    wide[:, :, :width] = book.centroids
    wide[part, :, :width] = centroids
    wide[part, count // 2 :, width] = length
    turn = np.zeros((subspaces, width + 1, book.dim + 1), np.float32)
    rotation = np.eye(book.wide, book.dim, dtype=np.float32) if book.rotation is None else book.rotation
    turn[:, :width, : book.dim] = rotation.reshape(subspaces, width, book.dim)
    turn[part, width, book.dim] = 1
    return Codebook(wide, turn.reshape(subspaces * (width + 1), book.dim + 1), dim=book.dim + 1, lost=book.lost)
