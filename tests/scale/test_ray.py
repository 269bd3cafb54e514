"""A small Ray cluster on this machine: the same promises as of threads, and what refuses."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.methods.xrlinear.toy import toy
from tests.scale import tasks
from tests.scale.killing import Killing, hits
from tests.support.folders import contents
from vizsla.base.encoder import FunctionEncoder
from vizsla.encoders.resumable import resumable_encode
from vizsla.errors import PlacementError, WorkerLostError
from vizsla.methods.xrlinear.build import xrlinear
from vizsla.scale import connect
from vizsla.scale.ray_cluster import _refusal

pytest.importorskip("ray", reason="the extra ray is not installed")


@pytest.fixture(scope="module")
def on():
    before = descendants()
    with connect("local", workers=2, object_store_mb=100) as placement:
        yield placement
        started = descendants() - before
        assert len(started) > 2, "a raylet, its server and workers"
    left = started
    for _ in range(600):
        left &= descendants(orphans=started)
        if not left:
            break
        time.sleep(0.1)
    assert not left, "a cluster that was started here ends with all its processes"


def descendants(orphans=frozenset()):
    """Return the processes that this one has started, and those of them, and which of the orphans are alive."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state != "Z":
                parents[int(entry.name)] = int(parent)
    found, new = set(orphans & parents.keys()), {os.getpid()}
    while new:
        new = {process for process, parent in parents.items() if parent in new}
        found |= new
    return found


def test_answers_come_in_order_and_share_what_is_common(on):
    assert list(on.map(tasks.slowest_first, range(4))) == [0, 1, 2, 3]
    assert list(on.map(tasks.shifted, [1, 2], common=np.arange(4))) == [7, 8]
    with pytest.raises(ValueError, match="no 0"):
        list(on.map(tasks.refuses, range(5)))


def test_a_lost_worker_is_replaced_and_its_task_runs_again(on, tmp_path):
    assert list(on.map(tasks.ends_its_worker_once, [str(tmp_path / "one")])) == ["done"]


def test_memory_is_declared_and_kept(on):
    assert list(on.map(tasks.needs, [1], memory_mb=60)) == [2**20]
    with pytest.raises(PlacementError, match="declared 60 MB"):
        list(on.map(tasks.needs, [300], memory_mb=60))
    with pytest.raises(PlacementError, match="The largest node of the cluster offers"):
        on.map(tasks.doubled, [1], memory_mb=1e9)


def test_a_model_has_the_bytes_of_local_training(on, tmp_path):
    options = {"branching": 4, "max_leaf": 4, "kind_shares": (1, 1, 1)}
    dataset = toy(60, cold=6)
    xrlinear(dataset, **options).save(tmp_path / "local")
    xrlinear(dataset, on=on, **options).save(tmp_path / "ray")
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")


def test_a_resident_that_dies_is_started_again(on, tmp_path):
    counter = on.start(tasks.Counter, str(tmp_path / "count"))
    assert counter.result(counter.call("add", 3)) == 3
    process = counter.result(counter.call("process"))
    os.kill(process, signal.SIGKILL)
    for _ in range(50):
        try:
            total = counter.result(counter.call("total"))
            break
        except WorkerLostError:
            continue
    assert total == 3
    assert counter.result(counter.call("process")) != process
    counter.stop()


def test_killed_shards_lose_nothing_that_was_acknowledged(on, tmp_path):
    killing = Killing(tmp_path, on)
    for number in range(3):
        killing.kill()
        assert number % 3 or not killing.differs()
    assert killing.lost() == [] and not killing.differs()
    # A shard that is being started again is left out when the time is over, and is waited for otherwise.
    os.kill(killing.shards._one(0, "process"), signal.SIGKILL)
    found = killing.shards.search("green fig", 5, deadline_s=0.02)
    assert found.partial and found.coverage < 0.9 and not found.candidates.stats.exact
    whole = killing.shards.search("green fig", 5)
    assert (
        not whole.partial
        and whole.coverage == 1.0
        and hits(whole.candidates) == hits(killing.one.search("green fig", 5))
    )
    kept = dict(zip(whole.ids[0], whole.candidates.scores.tolist(), strict=True))
    there = zip(found.ids[0], found.candidates.scores.tolist(), strict=True)
    assert all(kept[id] == score for id, score in there if id in kept), "what is found weighs what it weighs in all"
    killing.close()


def test_encoding_survives_a_lost_worker(on, tmp_path):
    texts = [f"text {number}" for number in range(2000)]
    encoder = FunctionEncoder(partial(tasks.encodes, str(tmp_path / "died")), dim=2, name="two numbers")
    resumable_encode(encoder, texts, tmp_path / "shared", on=on)
    assert (tmp_path / "died").exists()
    resumable_encode(encoder, texts, tmp_path / "local")
    assert (tmp_path / "shared/rows.partial").read_bytes() == (tmp_path / "local/rows.partial").read_bytes()


def test_a_second_cluster_is_refused(on):
    with pytest.raises(PlacementError, match="connected to one Ray cluster"):
        connect("local")


CONNECT = """
import sys
from vizsla.errors import PlacementError
from vizsla.scale import connect
try:
    connect(sys.argv[1]).close()
    print("connected")
except PlacementError as error:
    print(error)
"""


def said(address, **environment):
    run = subprocess.run(
        [sys.executable, "-c", CONNECT, address], capture_output=True, text=True, env={**os.environ, **environment}
    )
    return run.stdout.strip().splitlines()[-1] if run.stdout.strip() else run.stderr


def test_nothing_that_listens_is_said_at_once():
    assert said("127.0.0.1:9").startswith("A Ray cluster must listen at 127.0.0.1:9. Got no answer")
    assert "must be 'auto', 'local' or host:port" in said("nowhere")


def test_other_versions_are_named(on, monkeypatch):
    monkeypatch.setattr("vizsla.__version__", "0.0.1")
    with pytest.raises(PlacementError, match=r"versions of this process: .*vizsla 0\.0\.1.*Got .*vizsla \d"):
        on._check_workers()
    said = "Version mismatch: The cluster was started with: Ray: 2.55.0 Python: 3.12.1"
    assert "same versions of Ray and Python" in _refusal("auto", RuntimeError(said))
    assert "must be running. Got none" in _refusal("auto", ConnectionError("Could not find any running Ray instance."))


@pytest.fixture
def short():
    with tempfile.TemporaryDirectory(prefix="r") as folder:  # sockets lie below it, whose names must be short
        yield folder


def test_a_cluster_with_another_token_or_without_workers_refuses(short):
    token = "0123456789abcdef0123456789abcdef"
    environment = {**os.environ, "RAY_AUTH_TOKEN": token, "RAY_AUTH_MODE": "token", "RAY_USAGE_STATS_ENABLED": "0"}
    command = [str(Path(sys.executable).with_name("ray")), "start", "--head", "--port=0", "--num-cpus=0", "--block"]
    command += ["--object-store-memory=100000000", "--include-dashboard=false", f"--temp-dir={short}"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as head:
        try:
            lines = iter(head.stdout)
            address = next(line.split("--address=")[1].split("'")[1] for line in lines if "--address='" in line)
            refused = said(address, RAY_AUTH_TOKEN=token[::-1])
            assert "refused this process: both must have the same token" in refused
            lonely = said(address, RAY_AUTH_TOKEN=token)
            assert lonely.startswith("The cluster must have a worker with a CPU. Got none")
        finally:
            os.killpg(head.pid, signal.SIGTERM)
            head.wait(60)
            if _group_alive(head.pid):
                os.killpg(head.pid, signal.SIGKILL)


def _group_alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
