"""BLAS takes no threads that nobody gave it, in CUR's fits and searches, and has its own again afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from vizsla._internal import blas as module
from vizsla._internal.blas import ThreadPool, blas_threads

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def number(monkeypatch):
    """The number of threads of a BLAS that does nothing else: as a list of one."""
    held = [4]
    pool = ThreadPool(lambda: held[0], lambda most: held.__setitem__(0, most))
    monkeypatch.setattr(module, "loaded_pool", lambda: pool)
    return held


def test_the_least_bound_holds_and_none_raises_what_the_process_gave(number):
    with blas_threads(2):
        assert number == [2]
        with blas_threads(3):
            assert number == [2]
        with blas_threads(1):
            assert number == [1]
        assert number == [2]
    assert number == [4]
    with blas_threads(100):
        assert number == [4]


def test_a_failure_gives_the_threads_back(number):
    with pytest.raises(ZeroDivisionError), blas_threads(1):
        1 / 0  # noqa: B018
    assert number == [4]


def test_bounds_of_several_threads_end_in_any_order(number):
    steps = [Barrier(2) for _ in range(3)]
    seen = []

    def first():
        with blas_threads(1):
            steps[0].wait()
            steps[1].wait()
        seen.append(number[0])
        steps[2].wait()

    def second():
        steps[0].wait()
        with blas_threads(2):
            steps[1].wait()
            steps[2].wait()

    with ThreadPoolExecutor(2) as threads:
        for task in [threads.submit(first), threads.submit(second)]:
            task.result()
    assert seen == [2] and number == [4]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_forgets_who_was_inside_elsewhere(number):
    steps = [Barrier(2), Barrier(2)]

    def elsewhere():
        with blas_threads(1):
            steps[0].wait()
            steps[1].wait()

    with ThreadPoolExecutor(1) as threads:
        task = threads.submit(elsewhere)
        steps[0].wait()
        with blas_threads(3):
            child = os.fork()
            if not child:
                inside = number[0]
        if not child:
            os._exit(0 if (inside, number[0]) == (3, 4) else 1)
        steps[1].wait()
        task.result()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and number == [4]


def test_a_blas_that_is_not_known_is_left_alone(monkeypatch):
    monkeypatch.setattr(module, "loaded_pool", lambda: None)
    with blas_threads(1):
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_other_thread_runs_in_fits_and_searches():
    command, one = [sys.executable, "-m", "tests._internal.blas_workers"], {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=one, capture_output=True, text=True)
    assert done.stdout.split("\n")[:-1] == ["product 1", "fit 0", "searches 0", "left 2"], done.stderr
