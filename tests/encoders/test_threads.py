"""Threads: bounded by machine and work, the same answers, and none left behind to hang a forked child."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from vizsla.errors import InputError
from vizsla.indexes._faiss import bounded
from vizsla.indexes.factory import make_index

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = {
    "flat": {},
    "hnsw": {"M": 8, "ef_construction": 30, "ef": 40},
    "ivf": {"lists": 30, "probes": 9, "rounds": 3},
}


def made(kind: str):
    vectors = np.random.default_rng(1).standard_normal((3000, 16)).astype(np.float32)
    return make_index(kind, vectors, **OPTIONS[kind]), vectors[:70]


def threads_now() -> int:
    """How many threads this process has, with the one that a thread sanitizer keeps from the first thread on."""
    first = threading.Thread(target=int)
    first.start()
    with suppress(FileNotFoundError):  # once it is gone
        while Path(f"/proc/self/task/{first.native_id}").stat():
            time.sleep(0.001)
    return sum(1 for _ in Path("/proc/self/task").iterdir())


def left_of(before: int) -> int:
    """How many threads more there are than before; the system may take a while to clear those that ended."""
    for _ in range(2000):
        if threads_now() <= before:
            break
        time.sleep(0.01)
    return threads_now() - before


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("rows", [0, 1, 2, 70])
def test_any_number_of_threads_gives_the_same_answer(kind, rows):
    index, queries = made(kind)
    allowed = np.arange(3000) % 2 == 0
    for mask in (None, allowed):
        alone = index.search(queries[:rows], 20, filter=mask)
        for threads in (2, 3, 10**5):
            assert index.search(queries[:rows], 20, filter=mask, threads=threads) == alone


def test_threads_are_bounded_by_machine_and_work():
    assert bounded(10**5, 10**5) <= 4096 and bounded(10**5, 1) == bounded(1, 10**5) == bounded(3, 0) == 1


def test_building_with_any_number_of_threads():
    vectors = np.random.default_rng(2).standard_normal((500, 8)).astype(np.float32)
    index = make_index("hnsw", vectors, M=4, ef_construction=20, threads=10**5)
    assert len(index.search(vectors[:3], 5).items) == 15


@pytest.mark.parametrize("M", [1, 0, -3, 513, 2.5])
def test_links_out_of_range_raise(M):
    with pytest.raises(InputError, match="`M` must be"):
        make_index("hnsw", np.eye(4, dtype=np.float32), M=M)


FORK = """
import os, sys
from tests.encoders.test_threads import made
from tests.support.stuck import forked_status
index, queries = made({kind!r})
alone = index.search(queries, 20)
index.search(queries, 20, threads=2)
child = os.fork()
if not child:
    same = index.search(queries, 20) == alone and index.search(queries, 20, threads=2) == alone
    os._exit(0 if same else 1)
sys.exit(os.waitstatus_to_exitcode(forked_status(child)))
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs fork")
@pytest.mark.parametrize("kind", OPTIONS)
def test_a_child_forked_after_a_threaded_search_answers(kind):
    done = subprocess.run([sys.executable, "-c", FORK.format(kind=kind)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


COUNT = """
from tests.encoders.test_threads import left_of, made, threads_now
index, queries = made({kind!r})
before = threads_now()
for threads in (1, 2):
    index.search(queries, 20, threads=threads)
    print(left_of(before))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("kind", OPTIONS)
def test_no_search_leaves_a_thread_behind(kind):
    done = subprocess.run([sys.executable, "-c", COUNT.format(kind=kind)], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == ["0", "0"], done.stderr


BUILD = """
import os, sys
import numpy as np
from tests.encoders.test_threads import left_of, threads_now
from tests.support.stuck import forked_status
from vizsla.indexes._faiss import load_faiss
from vizsla.indexes.factory import make_index
load_faiss()
vectors = np.random.default_rng(0).standard_normal((600, 8), dtype=np.float32)
def build(threads):
    return make_index({kind!r}, vectors, threads=threads, **{options!r})
before = threads_now()
build(2)
assert left_of(before) == 0, "threads are left behind"
child = os.fork()
if not child:
    build(2)
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(forked_status(child)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("kind", "options"), [("hnsw", {"M": 4, "ef_construction": 10}), ("pq", {"bytes": 4, "bits": 4})]
)
def test_a_threaded_build_leaves_no_thread_behind_and_a_forked_child_builds_too(kind, options):
    script = BUILD.format(kind=kind, options=options)
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
