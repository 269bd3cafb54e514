"""Run a task within the memory that was declared for it."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vizsla.errors import PlacementError

NOT_GIVEN: Any = "vizsla: nothing in common"
"""Stands for `common` where a function takes one argument; a plain text, since it travels."""


def call(function: Callable[..., Any], task: Any, common: Any) -> Any:
    """Call a mapped function with its task, and with what is common to all tasks if there is any."""
    return function(task) if isinstance(common, str) and common == NOT_GIVEN else function(task, common)


def call_within(function: Callable[..., Any], task: Any, common: Any, memory_mb: float | None) -> Any:
    """Do the same in a worker process, within this much memory on top of what the process holds already.

    Examples
    --------
    >>> call_within(len, "fig", NOT_GIVEN, None)
    3
    """
    with kept_within(memory_mb):
        return call(function, task, common)


@contextmanager
def kept_within(memory_mb: float | None) -> Iterator[None]:
    """Let allocations within the block fail that go beyond this much; for processes with one task at a time."""
    held = _data_bytes()
    if memory_mb is None or held is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = held + int(memory_mb * 2**20)
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (limit if hard < 0 else min(limit, hard), hard))
        yield
    except MemoryError as error:
        raise PlacementError(
            f"A task must need at most the declared {memory_mb:,.0f} MB. Got one that needs more: declare more with "
            "`memory_mb`, or use smaller parts."
        ) from error
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _data_bytes() -> int | None:
    """Return how much private memory the process has asked for; None where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:")]
    return found[0] if found else None
