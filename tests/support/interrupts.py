"""Ctrl-C under test, measured in CPU seconds: what else the machine does must not decide."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 300
"""Seconds until a process counts as stuck; no test measures with them."""


def started(command: list[str], **options: Any) -> subprocess.Popen:
    """Start a process that hears Ctrl-C, even where a shell in the background had us ignore it."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    finally:
        signal.signal(signal.SIGINT, previous)


def wait_until(condition: Callable[[], bool], process: subprocess.Popen) -> None:
    """Return when the condition holds; a process that ends or hangs before it does is an error."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, f"ended too early: {process.communicate()[1]!r:.2000}"
        assert time.monotonic() < deadline, "stuck"
        time.sleep(0.01)


def has_open(process: subprocess.Popen, file: Path) -> bool:
    """Whether the process holds this file open."""
    try:
        return any(link.resolve() == file.resolve() for link in Path(f"/proc/{process.pid}/fd").iterdir())
    except OSError:  # it closed one while we looked
        return False


def interrupted(process: subprocess.Popen) -> tuple[Any, float]:
    """Send Ctrl-C; return what the process said on stderr, and the CPU seconds that it took to end."""
    before, worked = _ended_children(), cpu_seconds(process.pid)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=PATIENCE)[1]
    return said, _ended_children() - before - worked


def cpu_seconds(pid: int) -> float:
    """Return how long a process has worked so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def tree_cpu_seconds(pid: int) -> float:
    """Return how long a process has worked so far, with the children that it waited for and those that still run.

    `getrusage` of an ended process counts all of them, so what it used by some moment must count them too.
    """
    own = clock_seconds(pid)
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        tasks = [task / "children" for task in Path(f"/proc/{pid}/task").iterdir()]
        children = [int(child) for task in tasks for child in task.read_text().split()]
    except OSError:  # it ended, or one of its threads did, while we looked
        return own
    ended = (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
    return own + ended + sum(map(tree_cpu_seconds, children))


def clock_seconds(pid: int) -> float:
    """Return how long a process has worked so far, by its CPU clock; 0 if it is gone."""
    try:
        return time.clock_gettime((~pid << 3) | 2)  # Linux's name for the CPU clock of another process
    except OSError:
        return 0.0


def _ended_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def ctrl_c_after(seconds: float) -> Iterator[None]:
    """Interrupt this process once it has worked for so many CPU seconds; all of its threads count.

    Python discards an interrupt that arrives inside a destructor, such as that of another test's object: it is sent
    again at once. One that comes to nothing for another reason is sent again much later, so that a test fails and does
    not hang.
    """
    previous, report = signal.signal(signal.SIGPROF, signal.default_int_handler), sys.unraisablehook

    def send_again(unraisable: Any) -> None:
        if unraisable.exc_type is KeyboardInterrupt:
            signal.setitimer(signal.ITIMER_PROF, 0.001, 20)
        else:
            report(unraisable)

    sys.unraisablehook = send_again
    signal.setitimer(signal.ITIMER_PROF, seconds, 20)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
        sys.unraisablehook = report


def seconds_until_stopped(work: Callable[[], object], after: float) -> float:
    """Interrupt work after so many CPU seconds, and return how many it took to stop.

    The work begins again where it is done before: a machine may be faster than any that was thought of.
    """
    start = time.process_time()
    with ctrl_c_after(after), pytest.raises(KeyboardInterrupt):
        while True:
            work()
    return time.process_time() - start - after
