"""Scalar codes of a learned orthonormal projection ("ASH"): what they cost in quality beside PQ, OPQ and RaBitQ.

A vector is projected to fewer dimensions and each is coded by a few bits; queries stay whole. The projection is
learned: vectors are coded, and the orthonormal matrix that brings them nearest to their codes is found by one
decomposition, in turns. A new item needs a product and no training.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time
from typing import NamedTuple

import numpy as np

from benchmarks.corpus import data_folder
from benchmarks.pq_quality import SIZES, SPLITS, Collection, K, Search, ours
from benchmarks.rows import Row
from vizsla.indexes.flat import FlatIndex

BITS = (1, 2, 3, 4)
ROUNDS = 20
SCALE_BYTES = 2
"""A length of its own per item, as float16."""
SCALES = np.linspace(0.4, 1.6, 13)
"""Steps of the grid that are tried for an item, as shares of the usual one."""


class Ash(NamedTuple):
    """A projection and coded items.

    Parameters
    ----------
    projection : float32 array, dimensions × kept dimensions
        Orthonormal columns.
    codes : float32 array, items × kept dimensions
        Decoded items.
    """

    projection: np.ndarray
    codes: np.ndarray

    def search(self) -> Search:
        """Return the search of its items by whole queries."""
        return lambda queries: np.argsort(-(queries @ self.projection) @ self.codes.T, axis=1, kind="stable")[:, :K]


def coded(rows: np.ndarray, bits: int) -> np.ndarray:
    """Return each row's nearest multiple of a grid of 2^bits levels: of several steps, the one that points best."""
    usual = np.sqrt(np.mean(rows**2, axis=1, keepdims=True)) / 2 ** (bits - 1) * 2
    least, most = -(2 ** (bits - 1)) + 0.5, 2 ** (bits - 1) - 0.5
    best, nearest = np.zeros_like(rows), np.full(len(rows), -np.inf)
    for share in SCALES if bits > 1 else (1.0,):
        levels = np.clip(np.floor(rows / (share * usual + 1e-12)) + 0.5, least, most)
        cosine = np.einsum("nd,nd->n", rows, levels) / np.linalg.norm(levels, axis=1)
        better = cosine > nearest
        best[better], nearest[better] = levels[better], cosine[better]
    # The length that keeps inner products: that of the row along its code.
    length = np.einsum("nd,nd->n", rows, best) / np.square(best).sum(axis=1)
    return np.asarray(best * np.float16(length).astype(np.float32)[:, None], np.float32)


def ash(vectors: np.ndarray, bytes: int, bits: int, *, rounds: int = ROUNDS, seed: int = 0) -> Ash:
    """Learn a projection and code all vectors in so many bytes each."""
    kept = min(8 * (bytes - SCALE_BYTES) // bits, vectors.shape[1])
    centered = vectors - vectors.mean(axis=0)  # a query's product with the mean is the same for all items
    _, basis = np.linalg.eigh(centered.T @ centered)
    turn, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((kept, kept)))
    projection = (basis[:, ::-1][:, :kept] @ turn).astype(np.float32)
    for _ in range(rounds):
        left, _, right = np.linalg.svd(centered.T @ coded(centered @ projection, bits), full_matrices=False)
        projection = (left @ right).astype(np.float32)
    return Ash(projection, coded(centered @ projection, bits))


def ash_rows(name: str, *, quick: bool) -> Iterator[Row]:
    """Yield a row for each size and number of bits, beside exact vectors."""
    data = Collection(data_folder() / name, 300 if quick else None)
    flat = {split: data.quality(ours(FlatIndex.build(data.vectors)), split) for split in SPLITS}
    for bytes in SIZES[:1] if quick else SIZES:
        for bits in BITS:
            start = process_time()
            made = ash(data.vectors, bytes, bits, rounds=2 if quick else ROUNDS)
            seconds = process_time() - start
            for split in SPLITS:
                recall, rank = data.quality(made.search(), split)
                note = f"MRR@10 {rank:.3f}, flat {flat[split][0]:.3f}/{flat[split][1]:.3f}, {seconds:.0f} CPU s"
                what = f"{name}, {bytes} B, ASH, {bits} bits × {made.projection.shape[1]}, {split}: R@10"
                yield Row(what, recall, "", None, "", "", False, note)
