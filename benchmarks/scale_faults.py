"""What is killed while a cluster works: workers of each long step, shards that serve, a node with its disk."""

from __future__ import annotations

import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.processes import descendants
from benchmarks.scale_works import Work
from tests.scale.killing import MEMBERS, QUERIES, WORDS, Killing, hits
from vizsla.engine.engine import Engine
from vizsla.scale import ShardedEngine, connect

TASK_TITLE = b"ray::_call_with_shared"
"""What Ray calls a worker process while it runs a task."""
MOST_ROUNDS, KILLS_PER_ROUND = 12, 2
SHARDS, SHARD_MB, NODE_MB = 4, 100, 250
"""A node of the lost-node run has room for two shards."""


class WorkerKiller:
    """Ends worker processes of this machine that run a task, at random moments, while a block runs.

    Parameters
    ----------
    seed : int
        Of the moments.
    most : int
        How many are killed at most; Ray runs a task again three times.
    """

    def __init__(self, seed: int, most: int):
        self._pick, self._most, self.kills = random.Random(seed), most, 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> WorkerKiller:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        wait = self._pick.random() * 0.3
        while self.kills < self._most and not self._over.wait(wait):
            wait = 0.005
            busy = [process for process in descendants() if title(process).startswith(TASK_TITLE)]
            if busy:
                os.kill(self._pick.choice(busy), signal.SIGKILL)
                self.kills += 1
                wait = self._pick.random() * 0.5


def title(process: int) -> bytes:
    try:
        return (Path("/proc") / str(process) / "cmdline").read_bytes()
    except OSError:
        return b""


def killed_work(work: Work, on: Any, seed: int, kills: int) -> tuple[int, int]:
    """Repeat a long step until so many of its workers were killed; return how many, and how often it was not right."""
    expected, done, wrong = work(None), 0, 0
    for number in range(MOST_ROUNDS):
        with WorkerKiller(seed + number, min(KILLS_PER_ROUND, kills - done)) as killer:
            wrong += work(on) != expected
        done += killer.kills
        if done >= kills:
            break
    return done, wrong


def killed_service(folder: Path, on: Any, seed: int, kills: int) -> dict[str, int]:
    """Kill shards behind the HTTP service while it is asked; count whole, partial, refused and wrong answers."""
    from fastapi.testclient import TestClient

    from vizsla.serve import app

    killing, counts = Killing(folder, on, seed), dict.fromkeys(("whole", "partial", "refused", "wrong"), 0)
    for _ in range(6):
        killing.write()
    expected = {query: hits(killing.one.search([query], 5))[0] for query in QUERIES}
    known = {query: dict(hits(killing.one.search([query], 1000))[0]) for query in QUERIES}
    with TestClient(app(killing.shards), base_url="http://localhost") as client:
        for number in range(kills):
            process = killing.shards._one(number % len(killing.shards.folders), "process")
            os.kill(process, signal.SIGKILL)
            for query in QUERIES * 2:
                answer = client.post("/v1/search", json={"query": query, "k": 5})
                if answer.status_code != 200:
                    counts["refused"] += 1
                    continue
                body = answer.json()
                found = [(hit["id"], hit["score"]) for hit in body["results"]]
                right = found == expected[query]
                if body["partial"]:  # what is there weighs what it weighs in the whole
                    right = body["coverage"] < 1
                    right = right and all(known[query].get(id, score) == score for id, score in found)
                counts["wrong" if not right else "partial" if body["partial"] else "whole"] += 1
    killing.close()
    return counts


def lost_node(folder: Path) -> dict[str, Any]:
    """Lose one of two nodes, in a process of its own: Ray reads the token of a cluster when it is imported."""
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16), "RAY_USAGE_STATS_ENABLED": "0"}
    command = [sys.executable, "-m", "benchmarks.scale_faults", str(folder)]
    run = subprocess.run(command, env={**os.environ, **token}, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def losing_a_node(folder: Path) -> dict[str, Any]:
    """Lose one of two nodes with the folders on its disk; put a node in its place, and restore its shards' backups."""
    from ray.cluster_utils import Cluster

    mb, found = 2**20, dict[str, Any]()
    node = {"num_cpus": 1, "memory": NODE_MB * mb, "object_store_memory": 80 * mb, "include_dashboard": False}
    with tempfile.TemporaryDirectory(prefix="r") as short:  # names of sockets must be short
        cluster = Cluster(
            initialize_head=True, shutdown_at_exit=False,
            head_node_args={**node, "temp_dir": short, "_system_config": {"health_check_period_ms": 500}},
        )  # fmt: skip
        try:
            lost = cluster.add_node(**node)
            with connect(cluster.address, workers=2) as on:
                found = _without_node(folder, cluster, lost, node, on)
        finally:
            cluster.shutdown()
    return found


def _without_node(folder: Path, cluster: Any, lost: Any, node: dict[str, Any], on: Any) -> dict[str, Any]:
    pick = random.Random(1)
    items = {f"i{number}": " ".join(pick.choices(WORDS, k=6)) for number in range(200)}
    shop = ShardedEngine.create(folder / "shop", SHARDS, members=MEMBERS, on=on, memory_mb=SHARD_MB)
    with shop, Engine.create(folder / "one", members=MEMBERS, durability="process") as one:
        shop.upsert(items)
        one.upsert(items)
        expected = hits(one.search(QUERIES, 10))
        found = {"before": hits(shop.search(QUERIES, 10).candidates) == expected}
        shop.backup(folder / "copy")
        processes = [shop._one(shard, "process") for shard in range(SHARDS)]
        cluster.remove_node(lost, allow_graceful=False)
        gone = []
        for _ in range(300):  # workers end when they notice that their node is gone
            gone = [shard for shard, process in enumerate(processes) if not alive(process)]
            if len(gone) * SHARD_MB * 2 > NODE_MB:
                break
            time.sleep(0.2)
        for shard in gone:
            shutil.rmtree(shop.folders[shard])
        answer = shop.search(QUERIES, 10, deadline_s=3)
        share = 1 - len(gone) / SHARDS
        found |= {"shards on the node": len(gone), "partial": answer.partial, "coverage": answer.coverage}
        found["coverage is the share left"] = abs(answer.coverage - share) < 0.15
        cluster.add_node(**node)
        time.sleep(1)
        answer = shop.search(QUERIES, 10, deadline_s=20)
        found["partial with a new, empty node"] = answer.partial
        for shard in gone:
            Engine.restore(folder / "copy" / shop.folders[shard].name, shop.folders[shard]).close()
        answer = shop.search(QUERIES, 10)
        found["whole after the restore"] = not answer.partial and hits(answer.candidates) == expected
        found["items lost"] = sum(shop.get(id) is None for id in items)
    return found


def alive(process: int) -> bool:
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    print(json.dumps(losing_a_node(Path(sys.argv[1]))))
