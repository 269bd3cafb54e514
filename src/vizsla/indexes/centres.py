"""Centres of the lists of an IVF index: spherical k-means."""

from __future__ import annotations

import numpy as np

from vizsla.arguments import generator
from vizsla.candidates import Numbers
from vizsla.errors import check_range
from vizsla.indexes.faiss_storage import faiss_seed, faiss_threads, load_faiss
from vizsla.indexes.flat_search import flat_search
from vizsla.indexes.item_vectors import Floats, ItemVectors, blocks

SAMPLE = 256
"""Vectors a centre that k-means learns from: more hardly move it."""
LARGEST = 1e15
"""Of the numbers that k-means learns from as they are."""
ASKED, DEPTH = 400, 100
"""How many items are asked as queries, and how many neighbours of each are looked for, to choose the probes."""


def spherical_centres(vectors: ItemVectors, count: int, *, rounds: int, seed: int) -> Floats:
    """Return `count` centres of length 1, learned with Faiss from a seeded sample, on one thread."""
    faiss = load_faiss()

    if not len(vectors):
        return np.ones((1, vectors.dim), np.float32)
    chosen = generator(seed).permutation(len(vectors))[: count * SAMPLE]
    sample = _bearable(vectors.take(np.sort(chosen)))
    settings = {"niter": rounds, "seed": faiss_seed(seed) + 1, "spherical": True, "min_points_per_centroid": 1}
    means = faiss.Kmeans(vectors.dim, count, max_points_per_centroid=SAMPLE, **settings)
    with faiss_threads(1):
        means.train(np.ascontiguousarray(sample))
    centres: Floats = np.ascontiguousarray(means.centroids, np.float32)
    return np.nan_to_num(centres)


def _bearable(sample: Floats) -> Floats:
    """Return vectors in the same directions whose sums fit float32: where they do not, Faiss ends the process."""
    largest = float(np.abs(sample).max(initial=0.0))
    return sample if largest < LARGEST else sample / np.float32(largest)


def assigned(vectors: ItemVectors, centres: Floats) -> Numbers:
    """Return each item's list: the centre with the largest inner product."""
    among = ItemVectors.of(centres)
    lists = np.zeros(len(vectors), np.int32)
    for start, end in blocks(len(vectors), max(vectors.dim, len(centres)), size=1 << 20):
        lists[start:end] = flat_search(vectors.take(slice(start, end)), among, 1).items
    return lists


def enough_probes(vectors: ItemVectors, centres: Floats, lists: Numbers, *, recall: float, seed: int) -> int:
    """Return how many lists must be read to find a share `recall` of the nearest items of sampled items.

    One exact search shows in which lists the nearest are, and at which place each of these stands among the query's
    nearest lists; the probes are then read off the sorted places.
    """
    check_range("recall", recall, 0.0, 1.0)
    if not len(vectors):
        return 1
    chosen = np.sort(generator(seed).permutation(len(vectors))[:ASKED]).astype(np.int32)
    queries, depth = vectors.take(chosen), min(DEPTH + 1, len(vectors))
    found = flat_search(queries, vectors, depth).items.reshape(-1, depth)
    order = flat_search(queries, ItemVectors.of(centres), len(centres)).items.reshape(-1, len(centres))
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(len(centres), dtype=np.int32)[None], axis=1)
    others = found != chosen[:, None]  # an item's own list is always read
    needed = np.sort(np.take_along_axis(places, lists[found], axis=1)[others]) + 1
    return int(needed[min(len(needed) - 1, int(np.ceil(recall * len(needed))) - 1)]) if len(needed) else 1
