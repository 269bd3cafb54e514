"""Whether a process is stuck, told by what it does: the machine may be busy, or stand still for minutes."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import time
from pathlib import Path

from tests.support.interrupts import cpu_seconds

ASLEEP = 120.0
"""Seconds of nothing but sleep after which a process counts as stuck."""
GLANCE = 1.0
"""Seconds that count at most between two looks: whoever looks may have been paused himself."""


class Watched:
    """A process that is looked at now and then.

    Parameters
    ----------
    pid : int
        The process; it need not be a child.
    asleep : float
        Seconds that it may sleep without working in between. One that waits for a CPU, for a disk, or that was
        stopped, does not sleep.
    working : float
        CPU seconds that it may work from now on.
    """

    def __init__(self, pid: int, *, asleep: float = ASLEEP, working: float = math.inf):
        self.pid, self.patience = pid, asleep
        self.worked, self.state = _work_and_state(pid)
        self.below: list[tuple[float, str]] = []
        self.limit, self.slept, self.seen = self.worked + working, 0.0, time.monotonic()

    def is_stuck(self) -> bool:
        """Look at the process, and at its descendants: one that waits for a child that works is not stuck."""
        now, (worked, state) = time.monotonic(), _work_and_state(self.pid)
        sleeps = state == "S" and worked == self.worked
        if sleeps:
            below, self.below = self.below, [_work_and_state(child) for child in _descendants(self.pid)]
            sleeps = self.below == below and all(each == "S" for _, each in below)
        self.slept = self.slept + min(now - self.seen, GLANCE) if sleeps else 0.0
        self.worked, self.state, self.seen = worked, state, now
        return worked > self.limit or self.slept > self.patience


def forked_status(child: int, *, asleep: float = ASLEEP) -> int:
    """Wait for a child that this process forked and return its status; one that is stuck is aborted.

    Where `faulthandler` is enabled it then says on stderr where it hung.
    """
    watched = Watched(child, asleep=asleep)
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        if watched.is_stuck():
            os.kill(child, signal.SIGABRT)
        time.sleep(0.01)


def finished(process: subprocess.Popen, *, asleep: float = ASLEEP) -> tuple:
    """Wait for a process and return what it wrote, as `communicate` does; one that is stuck is killed."""
    watched = Watched(process.pid, asleep=asleep)
    while True:
        try:
            return process.communicate(timeout=GLANCE)
        except subprocess.TimeoutExpired:
            if watched.is_stuck():
                process.kill()


def _descendants(pid: int) -> list[int]:
    """Return the processes below one, as far as they can be seen."""
    try:
        tasks = [task / "children" for task in Path(f"/proc/{pid}/task").iterdir()]
        children = [int(child) for task in tasks for child in task.read_text().split()]
    except OSError:  # it ended, or one of its threads did, while we looked
        return []
    return [below for child in children for below in (child, *_descendants(child))]


def _work_and_state(pid: int) -> tuple[float, str]:
    """Return the CPU seconds of a process, and S where it sleeps; of one that is gone neither tells anything."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return cpu_seconds(pid), state
    except OSError:
        return 0.0, ""
