"""How many threads numpy's BLAS may take while something is computed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CDLL, c_int
from functools import cache
from threading import get_ident
from typing import NamedTuple

import numpy as np

from vizsla._internal.forking import ForkLock

PREFIXES = ("scipy_openblas_", "openblas_")
SUFFIXES = ("64_", "")
"""OpenBLAS under the names that numpy's wheels and distributions give it; another BLAS is left alone."""


class ThreadPool(NamedTuple):
    """How to ask how many threads BLAS takes, and how to change that, for the whole process."""

    get: Callable[[], int]
    set: Callable[[int], None]


@contextmanager
def blas_threads(most: int) -> Iterator[None]:
    """Limit BLAS to this number of threads inside the block, and never above the limit of the process.

    The number belongs to the process, so what other threads multiply meanwhile is bounded too. Of several bounds at
    once the least holds, and after the last one the number is what it was.

    Parameters
    ----------
    most : int
        How many threads.

    Examples
    --------
    >>> with blas_threads(1):
    ...     np.eye(2) @ np.ones(2)
    array([1., 1.])
    """
    pool = loaded_pool()
    if pool is None:
        yield
        return
    key = _entered(pool, most)
    try:
        yield
    finally:
        _left(pool, key)


_THREAD_BOUNDS: dict[object, tuple[int, int]] = {}
"""What is inside of a bound: the thread, and the bound."""
_THREADS_BEFORE: list[int] = []
"""What the number was before the first of them."""
_LOCK = ForkLock()


def _entered(pool: ThreadPool, most: int) -> object:
    key = object()
    with _LOCK:
        if not _THREAD_BOUNDS:
            _THREADS_BEFORE[:] = [pool.get()]
        _THREAD_BOUNDS[key] = get_ident(), most
        _apply(pool)
    return key


def _left(pool: ThreadPool, key: object) -> None:
    with _LOCK:
        _apply(pool, without=key)  # first: a child that is forked in between finds what has to be forgotten
        _THREAD_BOUNDS.pop(key, None)


def _apply(pool: ThreadPool, without: object = None) -> None:
    wanted = min([*_THREADS_BEFORE, *(most for key, (_, most) in _THREAD_BOUNDS.items() if key is not without)])
    if pool.get() != wanted:
        pool.set(wanted)


@cache
def loaded_pool() -> ThreadPool | None:
    """Return the pool of the BLAS that numpy is linked to, or None where it is one that is not known here.

    Examples
    --------
    >>> pool = loaded_pool()
    >>> pool is None or pool.get() >= 1
    True
    """
    try:
        library = CDLL(np.linalg._umath_linalg.__file__)
    except (AttributeError, OSError):
        return None
    for prefix in PREFIXES:
        for suffix in SUFFIXES:
            names = [f"{prefix}{verb}_num_threads{suffix}" for verb in ("get", "set")]
            if all(hasattr(library, name) for name in names):
                get, change = (getattr(library, name) for name in names)
                get.restype, change.argtypes, change.restype = c_int, [c_int], None
                return ThreadPool(get, change)
    return None


def _only_own() -> None:
    """Forget, in a forked child, entries of threads that it does not have."""
    gone = [key for key, (thread, _) in _THREAD_BOUNDS.items() if thread != get_ident()]
    for key in gone:
        del _THREAD_BOUNDS[key]
    pool = loaded_pool() if gone else None
    if pool is not None:
        _apply(pool)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_only_own)
