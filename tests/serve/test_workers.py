"""Several workers, many writers, joined encoders, and an end that finishes what was accepted."""

from __future__ import annotations

import json
import platform
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import httpx
import numpy as np
import pytest

import vizsla
from tests.serve.services import fruit_engine, listening, serving
from vizsla.encoders import FunctionEncoder
from vizsla.serve import application
from vizsla.serve.slow_clients import ImpatientProtocol


def asked(address, path, body=None):
    """Ask over a connection of its own, so that any worker may answer."""
    data = None if body is None else json.dumps(body).encode()
    request = Request(address + path, data, {"Content-Type": "application/json", "Connection": "close"})
    with urlopen(request, timeout=60) as answer:
        found = answer.read()
        return json.loads(found) if answer.headers["Content-Type"] == "application/json" else found.decode()


def test_workers_answer_for_each_other_and_end_together(tmp_path):
    fruit_engine(tmp_path).close()
    command = [sys.executable, "-m", "vizsla", "serve", str(tmp_path / "fruit.engine"), "--port", "0", "--workers", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            address = json.loads(process.stderr.readline())["address"]
            threading.Thread(target=process.stderr.read, daemon=True).start()
            for _ in range(600):
                with suppress(URLError, ConnectionError):
                    asked(address, "/ready")
                    break
                time.sleep(0.05)
            for at in range(20):
                asked(address, "/v1/items", {"id": f"new-{at}", "text": f"newcomer number {at}"})
                found = asked(address, "/v1/search", {"query": f"newcomer {at}", "k": 100})
                assert f"new-{at}" in [hit["id"] for hit in found["results"]]  # each worker sees each commit
                click = {"query_id": found["query_id"], "item": f"new-{at}"}
                assert asked(address, "/v1/clicks", click) == {"stored": 1, "left_out": 0}
            job = asked(address, "/v1/admin/rebuild", {"member": "words"})
            for _ in range(600):
                if asked(address, f"/v1/admin/jobs/{job['id']}")["state"] == "done":
                    break
                time.sleep(0.02)
            assert {asked(address, f"/v1/admin/jobs/{job['id']}")["state"] for _ in range(8)} == {"done"}
            counted = 'vizsla_requests_total{route="/v1/search",status="200"} 20.0'
            assert counted in asked(address, "/metrics")
            with httpx.Client(base_url=address, timeout=60) as client:
                client.get("/health")
                process.send_signal(signal.SIGTERM)
                with pytest.raises(httpx.TransportError):  # no worker accepts a connection any more
                    while client.post("/v1/search", json={"query": "newcomer"}).status_code == 200:
                        pass
            assert process.wait(60) in (0, -signal.SIGTERM)
        finally:
            process.kill()


def test_an_end_finishes_what_was_accepted(tmp_path):
    begun, gate, answers = threading.Event(), threading.Event(), []

    def encode(texts):
        if "wait" in texts:
            begun.set()
            gate.wait(60)
        return np.ones((len(texts), 2), np.float32)

    search = vizsla.dense({"fig": "a fig"}, FunctionEncoder(encode, dim=2, name="gate"))
    with listening(search) as address:

        def ask():
            answers.append(httpx.post(f"{address}/v1/search", json={"query": "wait"}, timeout=60))

        thread = threading.Thread(target=ask)
        thread.start()
        assert begun.wait(60)
        threading.Timer(0.2, gate.set).start()
    thread.join(60)
    assert answers[0].status_code == 200 and answers[0].json()["results"][0]["id"] == "fig"


def test_an_end_answers_what_is_on_its_way(tmp_path, monkeypatch):
    leaving, answers, shutdown = threading.Event(), [], ImpatientProtocol.shutdown

    def noted(self):
        shutdown(self)
        leaving.set()

    def ask(client, address):
        assert leaving.wait(60)
        answers.append(client.post(f"{address}/v1/search", json={"query": "fig"}))

    monkeypatch.setattr(ImpatientProtocol, "shutdown", noted)
    monkeypatch.setattr(ImpatientProtocol, "linger_s", 60.0)
    with fruit_engine(tmp_path) as engine, httpx.Client(timeout=60) as client:
        with listening(engine) as address:
            assert "connection" not in client.get(f"{address}/health").headers
            thread = threading.Thread(target=ask, args=(client, address))
            thread.start()
        thread.join(60)
    assert answers[0].status_code == 200 and answers[0].headers["connection"] == "close"


def test_an_open_connection_does_not_keep_a_service_that_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(ImpatientProtocol, "linger_s", 0.05)
    with fruit_engine(tmp_path) as engine, httpx.Client(timeout=60) as client, listening(engine) as address:
        assert client.get(f"{address}/health").status_code == 200


def test_writes_that_wait_together_share_a_commit_and_no_search_waits_for_them(tmp_path, monkeypatch):
    gate = threading.Event()
    with fruit_engine(tmp_path) as engine, serving(engine, threads=1) as client:
        store = type(engine._writer)._store
        before = engine.stats()
        monkeypatch.setattr(type(engine._writer), "_store", lambda *given: gate.wait(60) and store(*given))
        sent = [
            threading.Thread(target=client.post, args=("/v1/items",), kwargs={"json": {"id": f"n{at}", "text": "new"}})
            for at in range(12)
        ]
        for thread in sent:
            thread.start()
        for _ in range(6000):
            if len(engine._writer._waiting) == 11:
                break
            time.sleep(0.005)
        assert client.post("/v1/search", json={"query": "fig"}).status_code == 200  # with a single thread for searches
        gate.set()
        for thread in sent:
            thread.join(60)
        after = engine.stats()
        assert after["writes"] - before["writes"] == 12 and after["commits"] - before["commits"] <= 2
        assert engine.count() == before["items"] + 12


def test_several_queries_are_encoded_in_one_call_and_answered_as_each_alone():
    calls = []

    def encode(texts):
        calls.append(list(texts))
        return np.array([[len(text), text.count("a"), 1] for text in texts], np.float32)

    items = {f"i{at}": "a" * at + "b" for at in range(20)}
    dense = vizsla.dense(items, FunctionEncoder(encode, dim=3, name="letters"))
    texts = ["aa", "b", "aaa bb", '+aab "b"']
    with serving(dense) as client:
        calls.clear()
        body = {"k": 3, "facets": [], "stages": True, "explain": True}
        found = client.post("/v1/search", json={"queries": texts, **body}).json()["answers"]
        assert calls == [texts]
        for text, answer in zip(texts, found, strict=True):
            alone = client.post("/v1/search", json={"query": text, **body}).json()
            assert answer["results"] == alone["results"]
            names = [stage["name"] for stage in alone["stages"]]
            assert "encode: FunctionEncoder" in names and "search: dense" in names and "explain" in names
            within = [stage["ms"] for stage in alone["stages"] if stage["depth"] == 0]
            assert sum(within) <= alone["took_ms"]


def test_queries_that_come_too_late_are_not_begun(tmp_path):
    with fruit_engine(tmp_path) as engine, serving(engine, timeout_s=0.001) as client:
        answer = client.post("/v1/search", json={"queries": ["fig tree"] * 1000, "explain": True})
        assert answer.status_code == 504
        for _ in range(6000):  # its thread ends soon after, and not after a thousand queries
            if not client.app.state.admission.in_flight:
                break
            time.sleep(0.005)
        assert not client.app.state.admission.in_flight


def resident_mb():
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a matter of glibc")
def test_memory_that_is_free_goes_back_to_the_system(tmp_path, monkeypatch):
    monkeypatch.setattr(application, "TRIM_S", 0.01)
    blocks = [b"x" * 100_000 for _ in range(1000)]  # too small to be mapped one by one
    while blocks[:-1]:
        blocks.pop(0)  # the last one keeps the heap from shrinking
    before = resident_mb()
    with fruit_engine(tmp_path) as engine, serving(engine):
        for _ in range(6000):
            if resident_mb() < before - 50:
                break
            time.sleep(0.01)
        assert resident_mb() < before - 50
    assert len(blocks) == 1
