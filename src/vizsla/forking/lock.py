"""ForkLock: a lock that a forked child finds free, whoever held it in the parent."""

from __future__ import annotations

import os
from threading import Lock
from weakref import WeakSet


class ForkLock:
    """Use it as `with lock:`. What it guards must be sound at every step, since a fork can come between two.

    Examples
    --------
    >>> lock = ForkLock()
    >>> with lock:
    ...     "alone"
    'alone'
    """

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = Lock()
        _ALIVE.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()


_ALIVE: WeakSet[ForkLock] = WeakSet()


def _free() -> None:
    for lock in _ALIVE:
        lock._lock = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free)
