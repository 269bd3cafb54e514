"""Train product-quantization codebooks, and encode items with them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.terminal import progress
from vizsla.core.validation import as_array, generator
from vizsla.errors import InputError, check_choice
from vizsla.indexes._faiss import bounded, faiss_seed, faiss_threads, in_threads, load_faiss
from vizsla.indexes._memory import release_pages
from vizsla.indexes.approximate import check_whole
from vizsla.indexes.pq.codebook import CENTROIDS_BY_BITS, Codebook, PqCodes
from vizsla.indexes.vectors import ItemVectors, blocks
from vizsla.typing import Float32Array

VECTORS_PER_CENTROID = 256
"""Vectors a centroid that k-means learns from."""
MAX_VECTORS_MEASURED = 8192
"""Vectors of the sample by which it is measured what coding loses."""
MAX_VECTOR_VALUE = 1e15
"""Of a vector's numbers: squared distances of larger ones overflow float32, and Faiss then ends the process."""
MAX_ROUNDS = 10_000
SAMPLE_COPIES = 8
"""How often training holds its sample in memory, at most: as it came, rotated, decoded, and Faiss's own copies."""


def train_codebook(
    vectors: Any, *, bytes: int, bits: int, opq: bool, rounds: int, seed: int, memory: int, threads: int = 1
) -> Codebook:
    """Learn centroids, and with `opq` a rotation, from a seeded sample of the vectors."""
    dim = int(vectors.shape[1])
    subspaces = count_subspaces(dim, bytes=bytes, bits=bits)
    wide = -(-dim // subspaces) * subspaces
    sample = _sample(vectors, CENTROIDS_BY_BITS[bits], wide, seed, memory)
    with faiss_threads(1):  # OpenMP's own would outlive the training, and hang a process that is forked then
        rotation = _rotation(sample, subspaces, wide, bits, rounds, seed) if opq and len(sample) else None
        centroids = np.zeros((subspaces, CENTROIDS_BY_BITS[bits], wide // subspaces), np.float32)
        rotated = Codebook(centroids, rotation, dim=dim).rotated(sample)
        if len(sample):
            centroids = _centroids(rotated, subspaces, bits, seed, threads)
        book = Codebook(centroids, rotation, dim=dim)
        return Codebook(centroids, rotation, dim=dim, lost=_lost(book, rotated[:MAX_VECTORS_MEASURED]))


def count_subspaces(dim: int, *, bytes: int, bits: int) -> int:
    """Return into how many pieces a vector is cut, or raise where there are more than dimensions.

    Examples
    --------
    >>> count_subspaces(384, bytes=48, bits=8), count_subspaces(384, bytes=48, bits=4)
    (48, 96)
    """
    check_choice("bits", bits, list(CENTROIDS_BY_BITS))
    subspaces = check_whole("bytes", bytes, 2048) * (8 // bits)
    if subspaces > dim:
        raise InputError(f"`bytes` must be at most {dim * bits // 8} for {dim} dimensions. Got {bytes}.")
    return subspaces


def _sample(vectors: Any, centroids: int, wide: int, seed: int, memory: int) -> Float32Array:
    most = max(centroids, min(VECTORS_PER_CENTROID * centroids, memory // (4 * SAMPLE_COPIES * wide)))
    if len(vectors) <= most:
        return finite(vectors)
    chosen = np.sort(generator(seed).choice(len(vectors), most, replace=False))
    sample = np.empty((most, vectors.shape[1]), np.float32)
    for start, end in blocks(most, vectors.shape[1]):
        sample[start:end] = vectors[chosen[start:end]]
        release_pages(vectors)
    return finite(sample)


def _rotation(
    sample: Float32Array, subspaces: int, wide: int, bits: int, rounds: int, seed: int
) -> Float32Array | None:
    faiss = load_faiss()

    if len(sample) <= CENTROIDS_BY_BITS[bits]:
        return None  # every vector gets centroids of its own: nothing is lost that a rotation could save
    dim = sample.shape[1]
    if len(sample) < wide:  # Faiss writes beyond its buffers where there are fewer vectors than dimensions
        sample = np.tile(sample, (-(-wide // len(sample)), 1))
    turn = faiss.OPQMatrix(dim, subspaces, wide)
    turn.niter, turn.max_train_points = rounds, len(sample)
    quantizer = faiss.ProductQuantizer(wide, subspaces, bits)
    _set_clustering(quantizer.cp, seed, 4)
    turn.pq = quantizer
    turn.train(sample)
    rotation: Float32Array = faiss.vector_to_array(turn.A).reshape(wide, dim)
    return rotation


def _centroids(rotated: Float32Array, subspaces: int, bits: int, seed: int, threads: int) -> Float32Array:
    if len(rotated) <= CENTROIDS_BY_BITS[bits]:
        return _own_centroids(rotated, subspaces, CENTROIDS_BY_BITS[bits])
    pieces = rotated.reshape(len(rotated), subspaces, -1)

    def learned(numbers: NDArray[np.int64]) -> Float32Array:
        return np.stack([_clustered(pieces[:, number], bits, seed) for number in numbers.tolist()])

    return in_threads(learned, np.arange(subspaces), threads, turn=1)


def _clustered(piece: Float32Array, bits: int, seed: int) -> Float32Array:
    """Return the centroids of one sub-space; they do not depend on the others."""
    faiss = load_faiss()

    quantizer = faiss.ProductQuantizer(piece.shape[1], 1, bits)
    _set_clustering(quantizer.cp, seed, 25)
    quantizer.train(np.ascontiguousarray(piece))
    centroids: Float32Array = faiss.vector_to_array(quantizer.centroids).reshape(CENTROIDS_BY_BITS[bits], -1)
    return centroids


def _own_centroids(rotated: Float32Array, subspaces: int, count: int) -> Float32Array:
    """Use every vector as a centroid; the last one also fills the rest."""
    numbers = np.minimum(np.arange(count), len(rotated) - 1)
    pieces = rotated[numbers].reshape(count, subspaces, -1)
    return np.ascontiguousarray(pieces.transpose(1, 0, 2))


def _lost(book: Codebook, rotated: Float32Array) -> Float32Array:
    """Return the share of the squared lengths that coding loses, in each sub-space."""
    pieces = rotated.reshape(len(rotated), book.subspaces, book.width)
    rest = pieces - book.centroids[np.arange(book.subspaces), book.assigned_pieces(rotated)]
    total = np.einsum("nmj,nmj->m", pieces, pieces, dtype=np.float64)
    share = np.einsum("nmj,nmj->m", rest, rest, dtype=np.float64) / np.where(total > 0, total, 1)
    shares: Float32Array = share.astype(np.float32)
    return shares


def _set_clustering(settings: Any, seed: int, rounds: int) -> None:
    settings.niter, settings.seed = rounds, faiss_seed(seed) + 1
    settings.min_points_per_centroid, settings.max_points_per_centroid = 1, VECTORS_PER_CENTROID


def finite(rows: Any) -> Float32Array:
    """Return rows as float32, or raise where one holds NaN, infinity, or a number too large for distances."""
    with np.errstate(over="ignore"):
        block: Float32Array = np.ascontiguousarray(rows, np.float32)
    if not np.isfinite(block).all():
        raise InputError("`vectors` must hold finite numbers. Got NaN or infinity.")
    largest = float(max(block.max(initial=0.0), -block.min(initial=0.0)))
    if largest > MAX_VECTOR_VALUE:
        advice = "divide all vectors by one number"
        raise InputError(f"`vectors` to be coded must be at most {MAX_VECTOR_VALUE:g}. Got {largest:.3g}: {advice}.")
    return block


def checked_vectors(vectors: Any) -> Any:
    """Return vectors as a matrix of finite numbers, without copying one that is there."""
    rows = vectors if isinstance(vectors, np.ndarray) else as_array("vectors", vectors, np.float32)
    if rows.ndim != 2 or not rows.shape[1]:
        raise InputError(f"`vectors` must have one row an item. Got shape {rows.shape}.")
    return ItemVectors.of(rows).rows if rows.dtype not in (np.float32, np.float16) else rows


NUMBERS_PER_CHUNK = 1 << 22
"""Numbers coded at once, at most: chunks do not depend on the threads, and so neither do the codes."""


def encoded(vectors: Any, codebook: Codebook, *, memory: int, threads: int = 1) -> PqCodes:
    """Return the codes of vectors; memory for a few chunks is taken beside the codes."""
    codes = PqCodes.room(len(vectors), codebook.subspaces, bits=codebook.bits)
    # A chunk is held as it came, in float32, rotated, and with its distances to a sub-space's centroids.
    width = codebook.dim + codebook.wide + codebook.centroids.shape[1]
    size = min(NUMBERS_PER_CHUNK, memory // 8)
    pieces = blocks(len(vectors), width, size=size)
    workers = bounded(min(threads, max(1, memory // (8 * size))), len(pieces))

    def code(piece: tuple[int, int]) -> None:
        codes.put(piece[0], codebook.assigned(finite(vectors[slice(*piece)])))
        release_pages(vectors)

    with ThreadPoolExecutor(workers) as pool:
        for _ in progress(pool.map(code, pieces), total=len(pieces), what="coding"):
            pass
    return codes
