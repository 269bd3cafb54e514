"""Threads and processes of this machine as workers."""

import time

import numpy as np
import pytest

from tests.scale import tasks
from vizsla.errors import InputError, PlacementError
from vizsla.scale import connect


@pytest.mark.parametrize("processes", [False, True])
def test_answers_come_in_order_and_share_what_is_common(processes):
    with connect(workers=2, processes=processes) as on:
        assert list(on.map(tasks.slowest_first, range(4))) == [0, 1, 2, 3]
        assert list(on.map(tasks.shifted, [1, 2], common=np.arange(4))) == [7, 8]
        assert list(on.map(tasks.doubled, [])) == []
        with pytest.raises(ValueError, match="no 0"):
            list(on.map(tasks.refuses, range(5)))


def test_a_lost_process_is_replaced_and_its_task_runs_again(tmp_path):
    with connect(workers=2, processes=True) as on:
        paths = [str(tmp_path / str(number)) for number in range(3)]
        assert list(on.map(tasks.ends_its_worker_once, paths)) == ["done"] * 3
        assert on.repeated > 0


def test_a_process_keeps_to_the_declared_memory():
    with connect(workers=1, processes=True) as on:
        assert list(on.map(tasks.needs, [1], memory_mb=60)) == [2**20]
        with pytest.raises(PlacementError, match="declared 60 MB"):
            list(on.map(tasks.needs, [300], memory_mb=60))


def test_tasks_are_taken_as_workers_become_free():
    taken = []

    def numbers():
        for number in range(50):
            taken.append(number)
            yield number

    with connect(workers=1) as on:
        answers = on.map(tasks.doubled, numbers())
        assert next(iter(answers)) == 0
        assert len(taken) <= 3, "payloads of later tasks are not made yet"


def test_a_task_that_takes_far_longer_than_others_is_started_again(monkeypatch):
    from vizsla.base import placement

    monkeypatch.setattr(placement, "SLOW_S", 0.0)
    monkeypatch.setattr(placement, "SLOW_FACTOR", 0.0)
    with connect(workers=2) as on:
        assert list(on.map(tasks.slowest_first, [3, 2, 1, 0])) == [3, 2, 1, 0]
        assert on.repeated > 0


@pytest.mark.parametrize("processes", [False, True])
def test_what_is_given_up_does_not_keep_its_caller(processes):
    with connect(workers=2, processes=processes) as on:
        began = time.monotonic()
        with pytest.raises(ValueError, match="no 0"):
            list(on.map(tasks.naps_or_refuses, [0, *[6] * 5]))
        assert time.monotonic() - began < 5, "tasks that still run are not waited for"


def test_residents_answer_in_their_own_thread(tmp_path):
    with connect(workers=2) as on:
        both = [on.start(tasks.Counter, str(tmp_path / name)) for name in "ab"]
        handles = [each.call("add", 2) for each in both]
        assert both[0].wait(handles, 30) == [True, True]
        assert [each.result(handle) for each, handle in zip(both, handles, strict=True)] == [2, 2]


def test_what_cannot_be_connected_to_is_said():
    with pytest.raises(InputError, match="`workers` must be a whole number above 0"):
        connect(workers=0)
    with pytest.raises(InputError, match="`processes` must be left out"):
        connect("local", processes=True)
    with pytest.raises(InputError, match="`memory_mb` must be above 0"):
        connect(workers=1).map(tasks.doubled, [1], memory_mb=0)
