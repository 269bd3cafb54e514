"""The service on loopback: overhead, throughput, overload and a soak.

Every search row stands beside a route of the same application that reads the same request and sends a constant answer
of the same size. Loads come from `wrk` (Debian package `wrk`), another process on the same cores.
`python -m benchmarks.service [--quick] [--seconds 5] [--soak 600 [--rate 4]] [--json FILE]`
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import vizsla
from benchmarks.corpus import data_folder, passages, queries
from benchmarks.rows import Row, arguments, report
from vizsla.encoders import FunctionEncoder
from vizsla.serve.client import Client
from vizsla.serve.run import OPTIONS
from vizsla.serve.schemas import SearchRequest

LUA = """
local bodies = {}
for line in io.lines("%s") do bodies[#bodies + 1] = line end
local at = 0
request = function()
  at = at %% #bodies + 1
  return wrk.format("POST", "%s", {["Content-Type"] = "application/json"}, bodies[at])
end
"""
SLOW_MS = 6.0
GROUPS: dict[int, int] = {}
"""The process group of the service at each port."""


def main() -> None:
    def own(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--seconds", type=float, default=0)
        parser.add_argument("--soak", type=float, default=0, help="seconds of the soak; 0 for none")
        parser.add_argument("--rate", type=float, default=4, help="rounds of the soak per second, at most")
        parser.add_argument("--items", type=int, default=0, help="items of the BM25 engine (default: 100,000)")
        parser.add_argument("--folder", type=Path, help="where the indexes are built, and found the next time")
        parser.add_argument("--member", default="", help="the one member whose throughput is measured")
        parser.add_argument("--only", default="", help="throughput, overload, soak, or build; all unless given")

    given = arguments("service", own=own)
    if shutil.which("wrk") is None:
        raise SystemExit("`wrk` is missing: apt-get install wrk")
    seconds = given.seconds or (1 if given.quick else 5)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as temporary:
        base = given.folder or Path(temporary)
        base.mkdir(exist_ok=True, parents=True)
        if given.only in ("", "throughput", "build"):
            found = built(base, items=given.items or (5_000 if given.quick else 100_000))
            found = {name: path for name, path in found.items() if given.member in ("", name)}
        if given.only in ("", "throughput"):
            rows += [row for workers in (1, 2) for row in throughput(found, base, workers, seconds)]
        if given.only in ("", "overload"):
            rows += [*overload(seconds), *joined(seconds)]
        if given.soak:
            rows += soak(Path(temporary), given.soak, given.rate)
        report(rows, given.json)


def built(base: Path, *, items: int) -> dict[str, Path]:
    """Build an engine with BM25, and artifacts of three methods that learn, and return their paths."""
    names = ("XR-Linear", "tokens", "fusion")
    if (base / "tldr.jsonl").exists():
        return {"BM25": base / "bm25", **{name: base / name for name in names}}
    with vizsla.Engine.create(base / "bm25", members={"words": vizsla.Recipe.of("bm25")}) as engine:
        engine.add(((str(at), text) for at, text in enumerate(passages(items))), batch_size=10_000)
        engine.maintain()
    data = vizsla.open_dataset(data_folder() / "tldr")
    words = vizsla.bm25(data)
    trained = {"XR-Linear": vizsla.xrlinear(data), "tokens": vizsla.tokens(data)}
    trained["fusion"] = 0.5 * words.normalized() + 0.5 * trained["XR-Linear"].normalized()
    for name, retriever in trained.items():
        retriever.save(base / name)
    (base / "bm25.jsonl").write_text("".join(f"{json.dumps({'query': text})}\n" for text in queries(500)))
    _, texts = data.query_texts("test-seen")
    (base / "tldr.jsonl").write_text("".join(f"{json.dumps({'query': text})}\n" for text in texts[:500]))
    return {"BM25": base / "bm25", **{name: base / name for name in names}}


def throughput(found: dict[str, Path], base: Path, workers: int, seconds: float) -> Iterator[Row]:
    """Yield p50, p99 and requests per second of every member at some concurrencies, beside the constant route."""
    for name, path in found.items():
        bodies = base / ("bm25.jsonl" if name == "BM25" else "tldr.jsonl")
        with serving(path, workers=workers, constant=bodies) as port:
            loaded(port, "/v1/search", bodies, 8, max(1, seconds / 2))  # reads what a service reads once
            for concurrency in (1, 8, 64):
                constant = loaded(port, "/constant", bodies, concurrency, seconds)
                ours = loaded(port, "/v1/search", bodies, concurrency, seconds)
                what = f"{name}, {workers} worker{'s' * (workers > 1)}, {concurrency} at a time"
                beside = "the same route with a constant answer"
                goal = ">= 0.6" if name == "BM25" else ""
                yield Row(f"{what}: requests/s", ours["rate"], beside, constant["rate"], "1/s", goal, False)
                yield Row(f"{what}: CPU per request", ours["cpu"], beside, constant["cpu"], "ms")
                yield Row(f"{what}: p50", ours["p50"], beside, constant["p50"], "ms")
                yield Row(f"{what}: p99", ours["p99"], beside, constant["p99"], "ms")
                if name == "BM25" and concurrency == 1 and workers == 1:
                    over = ours["p50"] - constant["p50"]
                    yield Row(f"{what}: p50 over the constant route", over, "limit", 0.3, "ms", ">= 1")
                    over = ours["cpu"] - constant["cpu"]
                    yield Row(f"{what}: CPU over the constant route", over, "limit", 0.3, "ms", ">= 1")


def loaded(port: int, path: str, bodies: Path, concurrency: int, seconds: float) -> dict[str, float]:
    """Return what wrk measures; an answer that is no success raises."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(LUA % (bodies, path))
        script.flush()
        command = ["wrk", "-t1", f"-c{concurrency}", f"-d{seconds:.0f}s", "--latency", "-s", script.name]
        before = cpu_seconds(port)
        done = subprocess.run([*command, f"http://127.0.0.1:{port}"], capture_output=True, text=True, check=True)
        spent = cpu_seconds(port) - before
    if "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
        raise SystemExit(done.stdout)
    scale = {"us": 1e-3, "ms": 1.0, "s": 1e3}
    quantiles = dict(re.findall(r"(50|99)%\s+([\d.]+(?:us|ms|s))", done.stdout))
    times = {
        share: float(re.sub("[a-z]+", "", text)) * scale[re.sub("[\\d.]+", "", text)]
        for share, text in quantiles.items()
    }
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)[1])
    answered = int(re.search(r"(\d+) requests in", done.stdout)[1])
    return {"rate": rate, "p50": times["50"], "p99": times["99"], "cpu": spent * 1e3 / max(1, answered)}


def cpu_seconds(port: int) -> float:
    """Return the CPU time that the processes of the service have taken: it does not depend on what else runs."""
    total, tick = 0, os.sysconf("SC_CLK_TCK")
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.getpgid(int(folder.name)) == GROUPS.get(port):
                total += sum(map(int, (folder / "stat").read_text().rpartition(")")[2].split()[11:13]))
    return total / tick


@contextlib.contextmanager
def serving(path: Path | str, *, workers: int = 1, constant: Path | None = None, **environment: str) -> Iterator[int]:
    """Run the benchmark's application in processes of its own; yields the port."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    more = {"BENCH_PATH": str(path), "BENCH_BODIES": str(constant or ""), **environment}
    command = [sys.executable, "-m", "uvicorn", "benchmarks.service:application", "--factory", "--port", str(port)]
    command += ["--workers", str(workers), "--log-level", "error", "--no-access-log", "--http", OPTIONS["http"]]
    process = subprocess.Popen(command, env={**os.environ, **more}, start_new_session=True)
    GROUPS[port] = process.pid
    try:
        wait_for(port, process)
        yield port
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the service is ready."""
    from urllib.request import urlopen

    while process.poll() is None:
        with contextlib.suppress(OSError), urlopen(f"http://127.0.0.1:{port}/ready", timeout=5):
            return
        time.sleep(0.1)
    raise SystemExit("the service did not start")


def application() -> Any:
    """Return the service, with a route that reads a search request and sends a constant answer of the usual size."""
    from fastapi import Depends, Response
    from starlette.testclient import TestClient

    from vizsla.serve import ServiceSettings, app
    from vizsla.serve.security import require_read
    from vizsla.serve.telemetry import JsonLog

    path = os.environ["BENCH_PATH"]
    threads = int(os.environ.get("BENCH_THREADS", os.cpu_count() or 1))
    settings = ServiceSettings(threads=threads, max_waiting=int(os.environ.get("BENCH_WAITING", "64")))
    target = slow_retriever(shared=path == "shared") if path in ("slow", "shared") else path
    service = app(target, settings=settings, log=JsonLog(quiet=True))
    answer = b"{}"
    if bodies := os.environ.get("BENCH_BODIES"):
        first = json.loads(Path(bodies).read_text().splitlines()[0])
        answer = TestClient(service).post("/v1/search", json=first).content

    @service.post("/constant", dependencies=[Depends(require_read)])
    async def constant(body: SearchRequest) -> Response:
        return Response(answer, media_type="application/json")

    return service


def slow_retriever(*, shared: bool) -> Any:
    """Return a retriever that computes for some milliseconds without the interpreter, as an encoder does.

    The time is that of one text, or of a call where texts share it, as the small batches of a transformer do.
    """
    block = np.random.default_rng(0).standard_normal((700, 700))

    def encode(texts: list[str]) -> np.ndarray:
        end = time.perf_counter() + SLOW_MS / 1e3 * (1 if shared else len(texts))
        while time.perf_counter() < end:
            block @ block
        return np.ones((len(texts), 4), np.float32)

    return vizsla.dense({str(at): "text" for at in range(50)}, FunctionEncoder(encode, dim=4, name="slow"))


def overload(seconds: float) -> Iterator[Row]:
    """Yield p99 of accepted requests at capacity and at twice that, sent at fixed times whatever comes back."""
    limits = {"BENCH_THREADS": "1", "BENCH_WAITING": "8", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder, serving("slow", **limits) as port:
        bodies = Path(folder) / "bodies"
        bodies.write_text(json.dumps({"query": "text", "k": 1}) + "\n")
        capacity = loaded(port, "/v1/search", bodies, 4, seconds)["rate"]  # four that always wait: never idle
        at_capacity = asyncio.run(open_loop(port, rate=capacity, seconds=2 * seconds))
        twice = asyncio.run(open_loop(port, rate=2 * capacity, seconds=2 * seconds))
    others = set(twice["statuses"]) - {200, 429}
    p99 = [float(np.percentile(each["accepted"], 99)) for each in (at_capacity, twice)]
    refused, sent = twice["statuses"].get(429, 0), sum(twice["statuses"].values())
    note = f"{refused} of {sent} refused; other answers: {others or 'none'}; capacity {capacity:.0f}/s"
    what = "encoder of 6 ms, twice its capacity: p99 of accepted requests"
    yield Row(what, p99[1], "3 x p99 at capacity", 3 * p99[0], "ms", ">= 1", note=note)
    share = len(twice["accepted"]) / (2 * seconds) / capacity
    yield Row("encoder of 6 ms, twice its capacity: accepted requests", share, "of the capacity", 1.0, "", "", False)


def joined(seconds: float) -> Iterator[Row]:
    """Yield the throughput of an encoder that takes the same time for one text and for several."""
    with tempfile.TemporaryDirectory() as folder, serving("shared", BENCH_THREADS="1", OMP_NUM_THREADS="1") as port:
        bodies = Path(folder) / "bodies"
        bodies.write_text(json.dumps({"query": "text", "k": 1}) + "\n")
        found = {concurrency: loaded(port, "/v1/search", bodies, concurrency, seconds) for concurrency in (1, 8, 32)}
    for concurrency in (8, 32):
        what = f"encoder of 6 ms, {concurrency} at a time, joined: requests/s"
        yield Row(what, found[concurrency]["rate"], "one at a time", found[1]["rate"], "1/s", ">= 2", False)


async def open_loop(port: int, *, rate: float, seconds: float) -> dict[str, Any]:
    """Send requests at fixed times; return the milliseconds of accepted ones and how often each status came."""
    import httpx

    accepted: list[float] = []
    statuses: dict[int, int] = {}
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=200)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60, limits=limits) as client:

        async def send() -> None:
            started = time.perf_counter()
            answer = await client.post("/v1/search", json={"query": "text", "k": 1})
            statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
            if answer.status_code == 200:
                accepted.append((time.perf_counter() - started) * 1e3)

        await send()
        accepted.clear()
        statuses.clear()
        start, tasks = time.perf_counter(), []
        for number in range(int(rate * seconds)):
            await asyncio.sleep(max(0.0, start + number / rate - time.perf_counter()))
            tasks.append(asyncio.ensure_future(send()))
        await asyncio.gather(*tasks)
    return {"accepted": accepted, "statuses": statuses}


def soak(base: Path, seconds: float, rate: float) -> Iterator[Row]:
    """Yield errors and the drift of memory while items come and go, clicks arrive and members are swapped.

    At most `rate` rounds of 20 additions, 20 searches, a click and 20 deletions begin per second.
    """
    members = {"words": vizsla.Recipe.of("bm25"), "letters": vizsla.Recipe.of("tfidf"), "best": "words"}
    texts = list(passages(3000))
    with vizsla.Engine.create(base / "soak", members=members) as engine:
        engine.add([(f"base-{at}", text) for at, text in enumerate(texts[:2000])])
    with serving(base / "soak") as port, Client(f"http://127.0.0.1:{port}") as client:
        pid = GROUPS[port]
        errors = done = 0
        memory: list[tuple[float, float]] = []
        start = time.perf_counter()
        while (past := time.perf_counter() - start) < seconds:
            try:
                batch = [(f"new-{done % 7}-{at}", texts[2000 + (done + at) % 1000]) for at in range(20)]
                client.upsert(batch)
                for at in range(20):
                    client.search(texts[(done * 7 + at) % 3000][:60])
                client.click(texts[done % 2000][:40], f"base-{done % 2000}")
                client.delete([id for id, _ in batch])
                if done % 50 == 49:
                    client.rebuild("letters")
            except Exception as error:
                errors += 1
                print(error, file=sys.stderr)
            done += 1
            memory.append((past, resident(pid)))
            time.sleep(max(0.0, start + done / rate - time.perf_counter()))
        if done:
            print(*(f"{past:.0f} s: {size:.1f} MB" for past, size in memory[:: max(1, done // 20)]), sep=", ")
        later = [size for past, size in memory if past > min(120, seconds / 5)]
        first, last = np.median(later[: len(later) // 4]), np.median(later[-len(later) // 4 :])
        yield Row(f"soak of {seconds:.0f} s, {done} rounds: errors", errors, "goal", 0.5, "", ">= 1")
        growth = 100 * (last / first - 1)
        note = f"{growth:.1f} %"
        yield Row("growth of memory after the second minute", max(0.01, growth), "limit", 5, "%", ">= 1", note=note)


def resident(pid: int) -> float:
    """Return a process's resident memory in MB."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024


if __name__ == "__main__":
    main()
