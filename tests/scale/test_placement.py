"""Threads and processes of this machine as workers."""

import time

import numpy as np
import pytest

from tests.scale import tasks
from vizsla.base.placement import _Runs
from vizsla.errors import InputError, PlacementError
from vizsla.scale import connect
from vizsla.scale.local import LocalPlacement


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


@pytest.mark.parametrize("processes", [False, True])
def test_small_tasks_are_handed_out_in_runs(processes):
    calls = []

    class Counting(LocalPlacement):
        def _submit(self, job, task):
            calls.append(len(task))
            return super()._submit(job, task)

    with Counting(2, processes=processes) as on:
        assert list(on.map(tasks.shifted, range(200), common=np.arange(3), small=True)) == [*range(3, 203)]
        assert sum(calls) == 200 and calls[:4] == [1] * 4 and len(calls) < 30
    with Counting(2) as on:
        assert list(on.map(tasks.doubled, iter(range(70)), small=True)) == [*range(0, 140, 2)]
        with pytest.raises(ValueError, match="no 0"):
            list(on.map(tasks.refuses, range(5), small=True))


def test_runs_take_about_a_second():
    runs = _Runs(iter(range(1000)), 1000, 2)
    assert next(runs) == [0], "nothing is known of the time"
    runs.measured(0.1)
    assert len(next(runs)) == 10
    runs.measured(5.0)  # a worker that began later: the fastest one counts
    assert len(next(runs)) == 10
    last = _Runs(iter(range(30)), 30, 5)
    last.measured(0.1)
    assert [len(run) for run in last] == [6, 4, 4, 3, 2, 2, 2, 2, 2, 2, 1], (
        "the rest is shared, down to a quarter of it"
    )
    long = _Runs(iter(range(9)), None, 2)
    long.measured(40.0)
    assert [len(run) for run in long] == [1] * 9


def test_a_task_that_takes_far_longer_than_others_is_started_again(monkeypatch):
    from vizsla.base import placement

    monkeypatch.setattr(placement, "SLOW_S", 0.0)
    monkeypatch.setattr(placement, "SLOW_FACTOR", 0.0)
    with connect(workers=2) as on:
        assert list(on.map(tasks.slowest_first, [3, 2, 1, 0])) == [3, 2, 1, 0]
        assert on.repeated > 0


@pytest.mark.parametrize("processes", [False, True])
def test_what_is_given_up_does_not_keep_its_caller(processes):
    nap = 300 if processes else 6  # processes take long to start on a busy machine; a thread cannot be ended
    with connect(workers=2, processes=processes) as on:
        began = time.monotonic()
        with pytest.raises(ValueError, match="no 0"):
            list(on.map(tasks.naps_or_refuses, [0, *[nap] * 5]))
        assert time.monotonic() - began < nap - 1, "tasks that still run are not waited for"


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
