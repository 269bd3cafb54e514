"""The processes that this one has started, and the CPU seconds that they have taken."""

from __future__ import annotations

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def descendants() -> set[int]:
    """Return the processes that this one has started, and those that they have started, which are alive."""
    return set(_times()) - {os.getpid()}


def cpu_s() -> float:
    """Return the CPU seconds of this process and of all that descend from it and are alive."""
    return sum(_times().values())


def _times() -> dict[int, float]:
    parents, times = dict[int, int](), dict[int, float]()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            times[int(entry.name)] = (int(fields[11]) + int(fields[12])) / TICKS
    mine, grown = {os.getpid()}, True
    while grown:
        new = {process for process, parent in parents.items() if parent in mine} - mine
        mine, grown = mine | new, bool(new)
    return {process: times[process] for process in mine if process in times}
