"""Admission control: limits, time limits and joined calls."""

from __future__ import annotations

import asyncio
import threading
import time
from types import SimpleNamespace

import pytest

from vizsla.serve.admission import Admission, Batcher, BusyError, TimeLimitError


def run(coroutine):
    return asyncio.run(coroutine)


def test_more_than_the_limit_is_refused_at_once_and_nothing_is_lost():
    async def scenario():
        admission, gate = Admission(1, 2, 60), threading.Event()
        accepted = [asyncio.ensure_future(admission.run(gate.wait)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(BusyError):
            await admission.run(gate.wait)
        assert (admission.in_flight, admission.rejected) == (3, 1)
        gate.set()
        assert await asyncio.gather(*accepted) == [True] * 3
        assert admission.in_flight == 0
        assert await admission.run(lambda: "again") == "again"
        admission.close()

    run(scenario())


def test_a_late_call_is_answered_but_keeps_its_place_until_its_thread_is_free():
    async def scenario():
        admission, gate = Admission(1, 1, 0.05), threading.Event()
        with pytest.raises(TimeLimitError, match=r"longer than 0\.05 s"):
            await admission.run(gate.wait)
        assert admission.in_flight == 1
        with pytest.raises(TimeLimitError):  # waits behind it, and gives its place back, as it never ran
            await admission.run(gate.wait)
        assert admission.in_flight == 1
        gate.set()
        while admission.in_flight:
            await asyncio.sleep(0.005)
        admission.close()

    run(scenario())


def test_an_error_of_the_call_is_raised_and_a_timeout_error_of_its_own_is_not_the_limit():
    def fails():
        raise TimeoutError("of its own")

    async def scenario():
        admission = Admission(1, 1, 60)
        with pytest.raises(TimeoutError, match="of its own"):
            await admission.run(fails)
        assert admission.in_flight == 0
        admission.close()

    run(scenario())


def test_slow_requests_that_come_meanwhile_are_joined_and_each_gets_its_own_answer():
    async def scenario():
        admission, gate, sizes = Admission(2, 64, 60), threading.Event(), []
        batcher = Batcher(admission, slow_ms=1.0)

        def call(requests):
            sizes.append(len(requests))
            if len(sizes) == 1:
                time.sleep(0.01)
            elif len(sizes) == 2:
                gate.wait()
            return [2 * each for each in requests]

        assert await batcher.run("slow", lambda: "key", call, 1) == 2  # alone; now it is known to be slow
        first = asyncio.ensure_future(batcher.run("slow", lambda: "key", call, 2))
        while len(sizes) < 2:
            await asyncio.sleep(0.001)
        others = [asyncio.ensure_future(batcher.run("slow", lambda: "key", call, each)) for each in range(3, 9)]
        await asyncio.sleep(0)
        gate.set()
        assert [await each for each in (first, *others)] == [4, 6, 8, 10, 12, 14, 16]
        assert sizes == [1, 1, 6]
        assert admission.in_flight == 0
        admission.close()

    run(scenario())


def test_fast_members_are_never_joined():
    async def scenario():
        admission, sizes = Admission(2, 64, 60), []
        batcher = Batcher(admission, slow_ms=10_000.0)

        def call(requests):
            sizes.append(len(requests))
            return requests

        assert await asyncio.gather(*[batcher.run("fast", lambda: "key", call, each) for each in range(8)]) == list(
            range(8)
        )
        assert sizes == [1] * 8
        admission.close()

    run(scenario())


@pytest.mark.parametrize("shared", [True, False])
def test_only_members_that_gain_by_it_stay_joined(shared, monkeypatch):
    """An encoder takes one time for all; a member that works through them one by one keeps a thread per request."""

    async def scenario():
        admission, gate, sizes, now = Admission(1, 64, 60), threading.Event(), [], [0.0]
        admission.threads = 2
        batcher = Batcher(admission, slow_ms=1.0)
        monkeypatch.setattr("vizsla.serve.admission.time", SimpleNamespace(perf_counter=lambda: now[0]))

        def call(requests):
            gate.wait()
            sizes.append(len(requests))
            now[0] += 0.01 if shared else 0.01 * len(requests)
            return requests

        for _ in range(6):
            gate.clear()
            asked = [asyncio.ensure_future(batcher.run("member", lambda: "key", call, each)) for each in range(8)]
            await asyncio.sleep(0)
            gate.set()
            assert await asyncio.gather(*asked) == list(range(8))
        assert batcher.joins("member") == shared
        assert max(sizes) >= 6  # both were tried
        admission.close()

    run(scenario())


def test_a_request_that_fails_in_a_batch_fails_alone():
    async def scenario():
        admission, gate = Admission(1, 64, 60), threading.Event()
        batcher, seen = Batcher(admission, slow_ms=0.0), []

        def call(requests):
            seen.append(len(requests))
            if len(seen) == 1:
                gate.wait()
            if "bad" in requests:
                raise ValueError("bad")
            return requests

        first = asyncio.ensure_future(batcher.run("m", lambda: "key", call, "first"))
        while not seen:
            await asyncio.sleep(0.001)
        rest = [asyncio.ensure_future(batcher.run("m", lambda: "key", call, each)) for each in ("good", "bad", "fine")]
        await asyncio.sleep(0)
        gate.set()
        answers = await asyncio.gather(first, *rest, return_exceptions=True)
        assert answers[:2] == ["first", "good"] and isinstance(answers[2], ValueError) and answers[3] == "fine"
        admission.close()

    run(scenario())
