"""Who sleeps is stuck; who works, waits for a CPU or was stopped is not, however long it takes by the clock."""

from __future__ import annotations

import faulthandler
import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import stuck

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads what Linux says of a process")
CHILD = "child = subprocess.Popen([sys.executable, '-c', {!r}], stdout=subprocess.PIPE)\nchild.stdout.readline()\n"
DEEDS = {
    "sleep": "print(flush=True); signal.pause()",
    "work": "print(flush=True)\nwhile True: pass",
    "stop": "print(flush=True); os.kill(os.getpid(), signal.SIGSTOP)",
    "end": "print('done')",
}
DEEDS["wait for one who sleeps"] = CHILD.format(f"import signal; {DEEDS['sleep']}") + DEEDS["sleep"]
DEEDS["wait for one who works"] = CHILD.format(DEEDS["work"]) + DEEDS["sleep"]


@pytest.fixture
def process(request):
    script = f"import os, signal, subprocess, sys\n{DEEDS[request.param]}"
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    yield process
    for child in stuck._descendants(process.pid):
        os.kill(child, signal.SIGKILL)
    process.kill()
    process.communicate()


def state(process: subprocess.Popen) -> str:
    return stuck._work_and_state(process.pid)[1]


def wait_for(wanted: str, process: subprocess.Popen) -> None:
    process.stdout.readline()
    while state(process) not in wanted:
        time.sleep(0.01)


def looks(process: subprocess.Popen, monkeypatch, seconds: float, **limits) -> list[bool]:
    """Look a hundred times, with so many seconds in between as far as anybody can tell."""
    clock = itertools.count(0.0, seconds)
    monkeypatch.setattr(stuck.time, "monotonic", lambda: next(clock))
    watched = stuck.Watched(process.pid, **limits)
    return [watched.is_stuck() for _ in range(100)]


@pytest.mark.parametrize("process", ["sleep"], indirect=True)
def test_who_sleeps_is_stuck_at_last(process, monkeypatch):
    wait_for("S", process)
    assert looks(process, monkeypatch, 0.5, asleep=20.0) == [False] * 40 + [True] * 60


@pytest.mark.parametrize("process", ["wait for one who works"], indirect=True)
def test_who_waits_for_a_child_that_works_is_not_stuck(process, monkeypatch):
    wait_for("S", process)
    assert not any(looks(process, monkeypatch, 600.0, asleep=20.0))


@pytest.mark.parametrize("process", ["wait for one who sleeps"], indirect=True)
def test_who_waits_for_a_child_that_sleeps_is_stuck(process, monkeypatch):
    wait_for("S", process)
    while any(stuck._work_and_state(child)[1] != "S" for child in stuck._descendants(process.pid)):
        time.sleep(0.01)
    assert looks(process, monkeypatch, 0.5, asleep=20.0)[-1]


@pytest.mark.parametrize("process", ["sleep"], indirect=True)
def test_a_pause_of_minutes_counts_as_a_glance(process, monkeypatch):
    wait_for("S", process)
    assert looks(process, monkeypatch, 600.0, asleep=20.0) == [False] * 20 + [True] * 80


@pytest.mark.parametrize("process", ["stop"], indirect=True)
def test_who_was_stopped_is_not_stuck(process, monkeypatch):
    wait_for("T", process)
    assert not any(looks(process, monkeypatch, 600.0, asleep=20.0))
    process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("process", ["work"], indirect=True)
def test_who_works_for_too_long_is_stuck_and_killed(process):
    process.stdout.readline()
    watched = stuck.Watched(process.pid, working=0.2)
    while not watched.is_stuck():
        time.sleep(0.01)
    assert watched.worked > 0.2


@pytest.mark.parametrize("process", ["end"], indirect=True)
def test_who_has_ended_is_not_stuck(process):
    said, _ = stuck.finished(process)
    assert said == "done\n" and process.returncode == 0 and not stuck.Watched(process.pid).is_stuck()


def test_a_forked_child_that_is_stuck_is_aborted():
    child = os.fork()
    if not child:
        faulthandler.disable()
        signal.pause()
        os._exit(0)
    assert os.WTERMSIG(stuck.forked_status(child, asleep=0.1)) == signal.SIGABRT


@pytest.mark.parametrize("process", ["sleep"], indirect=True)
def test_who_is_stuck_is_killed(process, monkeypatch):
    monkeypatch.setattr(stuck, "GLANCE", 0.01)
    stuck.finished(process, asleep=0.1)
    assert process.returncode == -signal.SIGKILL
