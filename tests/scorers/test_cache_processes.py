"""A ScoreCache that several processes share, and that one of them leaves by kill -9."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.scorers.score_overlapping import ITEMS, QUERIES
from tests.support.interrupts import wait_until
from tests.support.stuck import finished
from vizsla.scorers.cache import ScoreCache
from vizsla.scorers.text import FunctionScorer

ROOT = Path(__file__).resolve().parents[2]
Events = list[tuple[str, int, str]]


def start(path: Path, log: Path, *, seed: int, rounds: int = 6, chunk: int = 16, ms: int = 2) -> subprocess.Popen:
    options = [str(number) for number in (seed, rounds, chunk, ms)]
    command = [sys.executable, "-m", "tests.scorers.score_overlapping", str(path), str(log), *options]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen) -> None:
    _, errors = finished(process)
    assert process.returncode == 0, errors


def events(log: Path) -> Events:
    lines = [line.split(" ", 2) for line in log.read_text().splitlines() if line.count(" ") >= 2]
    return [(what, int(at), pair) for what, at, pair in lines]


def stored(path: Path) -> int:
    return len(ScoreCache(FunctionScorer(len, ITEMS, name="seventh 1"), path))


def test_processes_share_what_they_pay_for(tmp_path):
    path, logs = tmp_path / "scores.db", [tmp_path / f"{seed}.log" for seed in range(8)]
    for process in [start(path, log, seed=seed) for seed, log in enumerate(logs)]:
        finish(process)  # among others: no process met a locked database, and all scores were right
    first_stored: dict[str, int] = {}
    sent = defaultdict(list)
    for what, at, pair in (event for log in logs for event in events(log)):
        if what == "stored":
            first_stored[pair] = min(at, first_stored.get(pair, at))
        else:
            sent[pair].append(at)
    assert set(sent) == set(first_stored)
    assert stored(path) == len(sent), "no score that was paid for is lost"
    assert len(sent) > 0.9 * len(ITEMS) * len(QUERIES), "the processes must overlap for this to prove anything"
    # "sent" has the time before the pair was looked up: had it been stored by then, it must have been found.
    assert [pair for pair, times in sent.items() if max(times) > first_stored[pair]] == []


def test_nothing_is_sent_again_after_it_was_stored(tmp_path):
    path = tmp_path / "scores.db"
    finish(start(path, tmp_path / "first.log", seed=1))
    before = {pair for _, _, pair in events(tmp_path / "first.log")}
    finish(start(path, tmp_path / "again.log", seed=1))
    assert events(tmp_path / "again.log") == []
    finish(start(path, tmp_path / "other.log", seed=2, rounds=1))
    assert before.isdisjoint(pair for what, _, pair in events(tmp_path / "other.log") if what == "sent")


def test_kill_9_loses_only_the_chunk_that_was_under_way(tmp_path):
    path, log = tmp_path / "scores.db", tmp_path / "killed.log"
    process = start(path, log, seed=3, rounds=50, chunk=8, ms=30)
    wait_until(lambda: log.exists() and log.read_text().count("stored") >= 40, process)
    process.kill()
    process.communicate()
    seen = events(log)
    sent = {pair for what, _, pair in seen if what == "sent"}
    noted = {pair for what, _, pair in seen if what == "stored"}
    assert len(noted) >= 40
    # A chunk may be stored and not yet noted.
    assert len(noted) <= stored(path) <= len(sent) <= len(noted) + 8
    finish(start(path, tmp_path / "after.log", seed=3, rounds=1))
    again = {pair for what, _, pair in events(tmp_path / "after.log") if what == "sent"}
    assert noted.isdisjoint(again)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_opens_a_connection_of_its_own(tmp_path):
    script = tmp_path / "forked.py"
    script.write_text(
        "import os, sys, numpy as np\n"
        "from vizsla.scorers.cache import ScoreStore\n"
        "store = ScoreStore(sys.argv[1])\n"
        "store.put('f', [('q', 'parent')], np.ones(1, np.float32))\n"
        "parents = store._file._connection()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    assert store._file._connection() is not parents\n"
        "    store.put('f', [('q', 'child')], np.ones(1, np.float32))\n"
        "    os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "store.put('f', [('q', 'both')], np.ones(1, np.float32))\n"
        "assert store.count('f') == 3\n"
    )
    subprocess.run([sys.executable, str(script), str(tmp_path / "s.db")], check=True)
