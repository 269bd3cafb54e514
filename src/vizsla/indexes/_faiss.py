"""Faiss beneath our indexes: the stored vectors as Faiss holds them, and how many threads it takes."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from threading import Event
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vizsla.core.validation import check_seed
from vizsla.data.filter import Filter
from vizsla.indexes.vectors import ItemVectors, blocks

R = TypeVar("R", bound=np.generic)
T = TypeVar("T", bound=np.generic)
QUERIES_PER_CALL = 256
"""Queries that Faiss answers without a look up."""


@cache
def load_faiss() -> Any:
    """Import Faiss, only when an index needs it; untyped, as most of it is made by SWIG."""
    return importlib.import_module("faiss")


def faiss_seed(seed: int) -> int:
    """Return a seed as Faiss takes it, which is a C int; one more still is.

    Examples
    --------
    >>> faiss_seed(7), faiss_seed(2**31)
    (7, 1)
    """
    return check_seed(seed) % (2**31 - 1)


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
    # An empty vector has no owner: the caller keeps the memory.
    return type(vector).create_view(load_faiss().swig_ptr(seen), seen.size, vector.owner)


class _Selector:
    """The owner of the form that Faiss takes of a filter: the same for every index."""


SELECTOR = _Selector()


def selector(filter: Filter) -> Any:
    """Return a Faiss selector of the allowed items; it copies the mask."""
    faiss = load_faiss()

    return faiss.IDSelectorBitmap(np.packbits(filter.mask, bitorder="little"))


def in_threads(
    search: Callable[[NDArray[R]], NDArray[T]], rows: NDArray[R], threads: int, *, turn: int = QUERIES_PER_CALL
) -> NDArray[T]:
    """Answer rows in a number of Python threads, each of which calls Faiss with one thread.

    Faiss's threads are OpenMP's. They wait for more work for ever, and a process that is forked meanwhile hangs as soon
    as it needs them; these are gone when the answer is there. Ctrl-C is heard between one turn and the next.
    """
    count, stop = bounded(threads, len(rows)), Event()
    if count == 1:
        return _alone(search, rows, stop, turn)
    with ThreadPoolExecutor(count) as pool:
        parts = [pool.submit(_alone, search, part, stop, turn) for part in np.array_split(rows, count)]
        try:
            while wait(parts, timeout=0.1).not_done:
                pass  # a wait without end might not hear a signal that another thread got
        except BaseException:
            stop.set()
            raise
        return np.concatenate([part.result() for part in parts])


def with_faiss_threads(work: Callable[[], object], threads: int) -> None:
    """Let Faiss use a number of OpenMP threads, which end with the thread that calls it."""
    if threads == 1:
        with faiss_threads(1):
            work()
        return
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(_counted, work, threads)
        while wait([done], timeout=0.1).not_done:
            pass
        done.result()


def _counted(work: Callable[[], object], threads: int) -> None:
    with faiss_threads(threads):
        work()


def bounded(threads: int, pieces: int) -> int:
    """Return how many threads are of use: no more than the machine has cores, or the work has pieces."""
    if threads == 1 or pieces == 1:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(threads, cores, pieces))


def _alone(search: Callable[[NDArray[R]], NDArray[T]], rows: NDArray[R], stop: Event, turn: int) -> NDArray[T]:
    with faiss_threads(1):
        if len(rows) <= turn:
            return search(rows)
        turns = range(0, len(rows), turn)
        return np.concatenate([search(rows[first : first + turn]) for first in turns if not stop.is_set()])


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
