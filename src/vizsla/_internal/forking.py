"""Locks and gates that are open in a forked child process."""

from __future__ import annotations

import os
from threading import Condition, Lock, RLock, local
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

    def take(self) -> bool:
        """Enter if no other thread is inside; return whether this one is now."""
        return self._lock.acquire(blocking=False)


_ALIVE: WeakSet[ForkLock] = WeakSet()


def _free() -> None:
    for lock in _ALIVE:
        lock._lock = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free)


MAX_FORK_CHECKS, FORK_CHECK_S = 1200, 0.1
"""How long a fork waits: a thread that is inside for longer waits for I/O or another process, and holds no lock.

Two minutes, since on a busy machine a thread among many may not be given a CPU for many seconds, and a child that is
forked too early hangs for good. Counted in looks: a process that was stopped, by a terminal or a closed lid, has not
waited.
"""


class ForkGate:
    """Threads enter and leave; a fork waits until all others have left; new threads wait for the fork.

    SQLite locks its memory for moments at a time: a child that was forked in one of them would wait for ever.

    Examples
    --------
    >>> gate = ForkGate()
    >>> with gate:
    ...     "a fork from another thread waits"
    'a fork from another thread waits'
    """

    def __init__(self) -> None:
        self._open_again()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._close, after_in_parent=self._open, after_in_child=self._open_again)

    def __enter__(self) -> None:
        with self._lock:  # every search enters and leaves: without a fork that is all it does
            if self._forks:
                self._free.wait_for(lambda: not self._forks or self._own)
            self._inside += 1
            self._mine.inside = self._own + 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            self._mine.inside = self._own - 1
            if self._forks:
                self._free.notify_all()

    @property
    def _own(self) -> int:
        """How often this thread is inside; it may fork itself."""
        count: int = getattr(self._mine, "inside", 0)
        return count

    def _close(self) -> None:
        self._free.acquire()
        self._forks += 1
        any(self._free.wait_for(lambda: self._inside <= self._own, FORK_CHECK_S) for _ in range(MAX_FORK_CHECKS))

    def _open(self) -> None:
        self._forks -= 1
        self._free.notify_all()
        self._free.release()

    def _open_again(self) -> None:
        """Reset the state in a child, which has no other threads."""
        mine = self._own if hasattr(self, "_mine") else 0
        self._lock, self._mine, self._inside, self._forks = RLock(), local(), mine, 0
        self._free = Condition(self._lock)
        self._mine.inside = mine
