"""Faiss beneath our indexes: the stored vectors as Faiss holds them, and how many threads it takes."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.filter import Filter
from vizsla.indexes.item_vectors import ItemVectors, blocks


def load_faiss() -> Any:
    """Import Faiss, only when an index needs it; untyped, as most of it is made by SWIG."""
    return importlib.import_module("faiss")


def empty_storage(vectors: ItemVectors) -> Any:
    """Return an empty Faiss index that codes rows exactly as `vectors` does."""
    faiss = load_faiss()

    if vectors.low is None or vectors.span is None:
        if vectors.storage == "float32":
            return faiss.IndexFlatIP(vectors.dim)
        kind = faiss.ScalarQuantizer.QT_fp16
        return faiss.IndexScalarQuantizer(vectors.dim, kind, faiss.METRIC_INNER_PRODUCT)
    storage = faiss.IndexScalarQuantizer(vectors.dim, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
    set_scale(storage, vectors)
    return storage


def set_scale(index: Any, vectors: ItemVectors) -> None:
    """Give a Faiss 8-bit index the scale of the bytes, instead of letting it learn one."""
    faiss = load_faiss()

    faiss.copy_array_to_vector(np.concatenate([vectors.low, vectors.span]).astype(np.float32), index.sq.trained)
    index.is_trained = True


def full_storage(vectors: ItemVectors) -> Any:
    """Return a Faiss index over the stored rows as they lie, memory-mapped or not: they must outlive it.

    An older Faiss that cannot look at foreign memory gets a copy, block by block.
    """
    storage = empty_storage(vectors)
    if len(vectors) and (view := view_of(vectors.rows.reshape(-1), storage.codes)) is not None:
        storage.codes, storage.ntotal = view, len(vectors)
        return storage
    for start, end in blocks(len(vectors), vectors.dim):
        codes = np.ascontiguousarray(vectors.rows[start:end]).view(np.uint8)
        storage.add_sa_codes(codes.reshape(end - start, -1))
    return storage


def view_of(flat: NDArray[Any], vector: Any) -> Any:
    """Return a Faiss vector of the same kind as `vector` that looks at the array's memory; None where it cannot."""
    if not hasattr(vector, "create_view") or not flat.flags.c_contiguous or not flat.flags.aligned:
        return None
    seen = flat.view(np.uint8) if "UInt8" in type(vector).__name__ else flat
    # The owner of an empty vector is nobody: the caller keeps the memory.
    return type(vector).create_view(load_faiss().swig_ptr(seen), seen.size, vector.owner)


class _Selector:
    """The owner of the form that Faiss takes of a filter: the same for every index."""


SELECTOR = _Selector()


def selector(filter: Filter) -> Any:
    """Return a Faiss selector of the allowed items; it copies the mask."""
    faiss = load_faiss()

    return faiss.IDSelectorBitmap(np.packbits(filter.mask, bitorder="little"))


@contextmanager
def faiss_threads(count: int) -> Iterator[None]:
    """Let Faiss use this many threads, as long as the block runs, in this thread's calls."""
    faiss = load_faiss()

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(count)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
