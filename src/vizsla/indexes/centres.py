"""Centres of the lists of an IVF index: spherical k-means."""

from __future__ import annotations

import numpy as np

from vizsla.candidates import Numbers
from vizsla.indexes.faiss_storage import faiss_threads, load_faiss
from vizsla.indexes.flat_search import flat_search
from vizsla.indexes.item_vectors import Floats, ItemVectors, blocks

SAMPLE = 256
"""Vectors a centre that k-means learns from: more hardly move it."""


def spherical_centres(vectors: ItemVectors, count: int, *, rounds: int, seed: int) -> Floats:
    """Return `count` centres of length 1, learned with Faiss from a seeded sample, on one thread."""
    faiss = load_faiss()

    if not len(vectors):
        return np.ones((1, vectors.dim), np.float32)
    chosen = np.random.default_rng(seed).permutation(len(vectors))[: count * SAMPLE]
    sample = vectors.take(np.sort(chosen))
    settings = {"niter": rounds, "seed": seed + 1, "spherical": True, "min_points_per_centroid": 1}
    means = faiss.Kmeans(vectors.dim, count, max_points_per_centroid=SAMPLE, **settings)
    with faiss_threads(1):
        means.train(np.ascontiguousarray(sample))
    centres: Floats = np.ascontiguousarray(means.centroids, np.float32)
    return np.nan_to_num(centres)


def assigned(vectors: ItemVectors, centres: Floats) -> Numbers:
    """Return each item's list: the centre with the largest inner product."""
    among = ItemVectors.of(centres)
    lists = np.zeros(len(vectors), np.int32)
    for start, end in blocks(len(vectors), max(vectors.dim, len(centres)), size=1 << 20):
        lists[start:end] = flat_search(vectors.take(slice(start, end)), among, 1, None)[1]
    return lists
