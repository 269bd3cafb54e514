"""Ctrl-C at random moments of the command line; `python -m benchmarks.fuzz --target stops` runs more of the same."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.fuzz.campaign import run
from tests.robustness.stopped_command_target import COMMANDS, stopped
from vizsla.cli.verbs import VERBS

CASES = 12
SLOW = {"demo", "export", "diagnose"}
"""Tried by the benchmark alone."""
OTHERWISE = {"learn", "report"}
"""`learn` ends with the best so far, as tests/autopilot/test_learn.py shows; `report` writes one small file."""
SERVERS = {"serve", "mcp"}
"""Run until they are stopped: tests/serve/test_run.py stops one."""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_command_that_is_stopped_leaves_nothing_half_written():
    report = run("stops", count=CASES, seed=2026)
    assert not report.findings, str(report)
    assert report.outcomes["refused"], "some must have been stopped"


TWO_PROCESSES = """
import subprocess, sys, time
def work(seconds):
    while time.process_time() < seconds: pass
if len(sys.argv) > 2:
    work(float(sys.argv[2]))
    sys.exit()
subprocess.run([sys.executable, __file__, "child", sys.argv[1]])
work(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("child", "moment"), [(3.0, 0.5), (1.0, 1.5)])
def test_what_a_child_worked_before_ctrl_c_is_not_counted_as_work_after_it(child, moment, tmp_path):
    """`vizsla demo` reads the documentation in a child, which takes about 2 CPU seconds."""
    script = tmp_path / "two_processes.py"
    script.write_text(TWO_PROCESSES)
    _, _, seconds, after = stopped([sys.executable, str(script), str(child)], moment)
    assert moment <= seconds - after < moment + 1.0  # a child counts while it works, not only when it has ended
    # From Ctrl-C on the child may work for the 0.25 s that `subprocess.run` gives it, and for as long as a busy machine
    # keeps us from sending it; its whole second must not count.
    assert after < 0.9


def test_all_verbs_are_tried():
    assert {command.split()[0] for command in COMMANDS} == set(VERBS) - SLOW - SERVERS - OTHERWISE


LOST = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import vizsla.cli.inspect as verb
from vizsla.cli import main
class Thing:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000): pass
def run(arguments):
    Thing()
    while True: pass
verb.run = run
sys.exit(main(["inspect", "bm25"]))
"""


def test_ctrl_c_while_an_object_is_destroyed_is_not_lost():
    done = subprocess.run([sys.executable, "-c", LOST], capture_output=True)
    assert done.returncode == 130 and done.stderr == b"vizsla: stopped; nothing was left half-written.\n"


AFTER = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from vizsla.cli import main
sys.argv = ["vizsla", "--version"]
try:
    main(None if sys.stdin.read() == "command" else sys.argv[1:])
except SystemExit:
    print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


@pytest.mark.parametrize(("how", "back"), [("command", b"False"), ("function", b"True")])
def test_a_function_gives_ctrl_c_back_and_the_command_lets_it_end_the_process(how, back):
    done = subprocess.run([sys.executable, "-c", AFTER], capture_output=True, input=how.encode())
    assert done.stdout.split()[-1] == back, done.stderr
