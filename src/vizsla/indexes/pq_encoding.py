"""Codes vectors with a codebook, a chunk at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from vizsla.indexes.faiss_storage import bounded
from vizsla.indexes.item_vectors import blocks
from vizsla.indexes.mapped import let_go
from vizsla.indexes.pq_codebook import Codebook
from vizsla.indexes.pq_codes import PqCodes
from vizsla.indexes.pq_training import finite
from vizsla.progress import progress

CHUNK = 1 << 22
"""Numbers coded at once, at most: chunks do not depend on the threads, and so neither do the codes."""


def encoded(vectors: Any, codebook: Codebook, *, memory: int, threads: int = 1) -> PqCodes:
    """Return the codes of vectors; memory for a few chunks is taken beside the codes."""
    codes = PqCodes.room(len(vectors), codebook.parts, bits=codebook.bits)
    # A chunk is held as it came, in float32, turned, and with its distances to a sub-space's centroids.
    width = codebook.dim + codebook.wide + codebook.centroids.shape[1]
    size = min(CHUNK, memory // 8)
    pieces = blocks(len(vectors), width, size=size)
    workers = bounded(min(threads, max(1, memory // (8 * size))), len(pieces))

    def code(piece: tuple[int, int]) -> None:
        codes.put(piece[0], codebook.assigned(finite(vectors[slice(*piece)])))
        let_go(vectors)

    with ThreadPoolExecutor(workers) as pool:
        for _ in progress(pool.map(code, pieces), total=len(pieces), what="coding"):
            pass
    return codes
