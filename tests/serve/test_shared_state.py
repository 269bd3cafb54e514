"""What workers tell each other: recent queries and jobs."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading

import pytest

from vizsla.errors import InputError
from vizsla.serve.shared_state import MAX_JOBS, SLOT_BYTES, Jobs, RecentQueries


def test_workers_know_each_others_queries(tmp_path):
    first, second = RecentQueries(tmp_path), RecentQueries(tmp_path)
    texts = {f"id-{at}": f"query {at} ä\ud800" for at in range(2000)}
    for query_id, text in texts.items():
        first.note(query_id, text)
    known = {query_id: second.get(query_id) for query_id in texts}
    assert {found for query_id, found in known.items() if found != texts[query_id]} <= {None}  # a slot has one query
    assert sum(found is not None for found in known.values()) > 1900
    assert all(first.get(query_id) == text for query_id, text in texts.items())
    assert second.get("unknown") is None


def test_long_texts_and_slots_that_are_being_written_are_not_known(tmp_path):
    first, second = RecentQueries(tmp_path), RecentQueries(tmp_path)
    first.note("long", "x" * SLOT_BYTES)
    assert (first.get("long"), second.get("long")) == ("x" * SLOT_BYTES, None)
    first.note("torn", "a whole text")
    with (tmp_path / "queries").open("r+b") as file:
        whole = file.read()
        at = whole.index(b"a whole text")
        file.seek(at)
        file.write(b"a wh")
        file.write(b"\0")
    assert second.get("torn") is None
    alone = RecentQueries(size=2)
    for query_id in "abc":
        alone.note(query_id, query_id)
    assert [alone.get(query_id) for query_id in "abc"] == [None, "b", "c"]


def ended(jobs, id):
    async def wait():
        for _ in range(2000):
            job = jobs.get(id)
            if job["state"] in ("done", "failed"):
                return job
            await asyncio.sleep(0.005)
        raise AssertionError(jobs.get(id))

    return wait()


def test_another_worker_says_how_a_job_goes_and_what_it_found(tmp_path):
    async def scenario():
        told, gate = [], threading.Event()
        mine, other = Jobs(tmp_path, told.append), Jobs(tmp_path)
        running = mine.start("evaluate", lambda: gate.wait() and {"found": [1, 2]})
        waiting = mine.start("rebuild", lambda: 1 / 0)
        assert other.get(waiting["id"])["state"] == "waiting"
        gate.set()
        done = await ended(other, running["id"])
        assert (done["state"], done["result"]) == ("done", {"found": [1, 2]})
        failed = await ended(other, waiting["id"])
        assert failed["error"] == "An unexpected error: ZeroDivisionError." and told[0]["error"] == "ZeroDivisionError"
        assert [job["action"] for job in other.all()] == ["rebuild", "evaluate"]
        assert "result" not in other.all()[1]
        assert other.get("../../etc/passwd") is None and other.get("unknown") is None

    asyncio.run(scenario())


def test_a_job_whose_worker_has_ended_has_failed(tmp_path):
    jobs = Jobs(tmp_path)
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    job = {"id": "a1", "action": "rebuild", "state": "running", "started": 0.0, "pid": child.pid}
    (tmp_path / "jobs" / "a1.json").write_text(json.dumps(job))
    assert jobs.get("a1")["error"] == "The worker that ran the job has ended."


@pytest.mark.parametrize("shared", [True, False])
def test_an_end_finishes_what_runs_and_gives_up_what_waits(tmp_path, shared):
    def refuse():
        raise InputError("`x` must be better.")

    async def scenario():
        jobs, gate, begun = Jobs(tmp_path if shared else None), threading.Event(), []
        first = jobs.start("first", lambda: begun.append(1) or gate.wait())
        second = jobs.start("second", lambda: begun.append(2))
        while not begun:
            await asyncio.sleep(0.001)
        closing = asyncio.ensure_future(jobs.close())
        await asyncio.sleep(0)
        gate.set()
        await closing
        assert jobs.get(first["id"])["state"] == "done" and jobs.get(second["id"])["state"] == "failed"
        assert begun == [1]
        refused = jobs.start("third", refuse)
        assert (await ended(jobs, refused["id"]))["error"] == "`x` must be better."
        for _ in range(MAX_JOBS + 5):
            jobs.start("many", int)
        await jobs.close()
        assert len(jobs.all()) == MAX_JOBS

    asyncio.run(scenario())
