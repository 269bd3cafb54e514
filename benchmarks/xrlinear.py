"""XR-Linear against PECOS: recall, query time, training time and memory, size; and items without clicks.

Both learn from the same instances, in one thread. PECOS comes in two guises: with its own vectorizer as it comes (word
unigrams), and on the very features that we use. Times are CPU times; rounds are interleaved and medians taken. Run
`benchmarks/peers/setup_pecos.sh` once, then `python -m benchmarks.xrlinear [--quick|--full] [--json FILE]`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from benchmarks.contestant import Contestant
from benchmarks.corpus import data_folder
from benchmarks.rows import Row, arguments, report
from benchmarks.xrlinear_costs import Task, cost_rows
from benchmarks.xrlinear_exchange import write_exchange
from benchmarks.xrlinear_log import write_log
from benchmarks.xrlinear_pair import Pair

INSTANCES = {"queries": "queries only", "with-items": "queries + item text"}
BEAMS = (10, 50)
SEEDS = (0, 1, 2)
UNSEEN = 0.25
"""R@10 of items without clicks that must be reached on tldr."""


class Set(NamedTuple):
    name: str
    split: str
    source: Path
    folder: str


def main() -> None:
    options = arguments("xrlinear")
    with tempfile.TemporaryDirectory() as folder:
        sets = _sets(Path(folder), quick=options.quick, full=options.full)
        rows = []
        for row in _rows(sets, rounds=3 if options.quick else 5):
            rows.append(row)
            _say(f"{row.work}: {row.ours} against {row.theirs} ({row.peer})")  # a run that is broken off says something
        report(rows, options.json)


def _rows(sets: list[Set], rounds: int) -> Iterator[Row]:
    for one in sets:
        yield from recall_rows(one)
    yield from cold_rows(sets[0])
    single: dict[str, float] = {}
    for one in sets:
        if one.name == "tldr" or one.name.startswith("log"):
            trainings = 1 if one.name == "log-200k" else min(rounds, 3)  # minutes each
            yield from cost_rows(Task(one.name, one.folder, one.split, rounds, trainings), single)
        if one.name == "log-20k":
            yield from threshold_rows(one)
    if "log-200k" in single:
        work = "growth of a query's time, 20k to 200k items"
        yield Row(work, single["log-200k"] / single["log-20k"], "limit", 2.0, "times", ">= 1.0")


def _sets(folder: Path, *, quick: bool, full: bool) -> list[Set]:
    real = {"tldr": "test-seen"} if quick else {"tldr": "test-seen", "squad-sent": "test-seen", "debian-deps": "test"}
    sources = {name: (split, data_folder() / name) for name, split in real.items()}
    for items in () if quick else (20_000, 200_000) if full else (20_000,):
        name = f"log-{items // 1000}k"
        sources[name] = "test", write_log(folder / name, items)
    sets = []
    for name, (split, source) in sources.items():
        splits = (split, "test-unseen") if name == "tldr" else (split,)
        sets.append(Set(name, split, source, write_exchange(source, folder / f"{name}.exchange", splits)))
    return sets


def recall_rows(one: Set) -> Iterator[Row]:
    """Train both on queries alone and with item texts, and compare what they find."""
    for instances, words in INSTANCES.items():
        with Pair() as pair:
            pair.ask("train", folder=one.folder, instances=instances, ours={"cold_start": instances == "with-items"})
            for beam in BEAMS:
                found = pair.ask("recall", folder=one.folder, split=one.split, beam=beam)
                theirs = found["theirs"] or (None, None)
                for depth, a, b in zip((10, 100), found["ours"], theirs, strict=True):
                    work = f"{one.name} R@{depth}, beam {beam}, {words}"
                    yield Row(work, a, "PECOS", b, "recall", ">= 1.0", False, pair.problem)


def cold_rows(one: Set) -> list[Row]:
    """Compare what is found of items without clicks, and whether the others suffer: means over seeds, against luck."""
    (seen, unseen), (seen_without, unseen_without) = (_cold_recalls(one, cold) for cold in (True, False))
    peer = "without the cold-start path"
    rows = [Row(f"{one.name} test-unseen R@10", unseen[0], "target", UNSEEN, "recall", ">= 1.0", False)]
    rows.append(Row(f"{one.name} test-unseen R@10", unseen[0], peer, unseen_without[0], "recall", ">= 1.0", False))
    for at, depth in enumerate((10, 100)):
        work = f"{one.name} test-seen R@{depth}, items without clicks placed"
        rows.append(Row(work, seen[at], peer, seen_without[at], "recall", ">= 1.0", False))
    return rows


def _cold_recalls(one: Set, cold: bool) -> list[list[float]]:
    """Return R@10 and R@100 of both splits."""
    found: list[list[list[float]]] = []
    for seed in SEEDS:
        with Contestant("xrlinear_ours") as ours:
            ours.ask("train", folder=one.folder, instances="with-items", cold_start=cold, seed=seed)
            splits = (one.split, "test-unseen")
            found.append([ours.ask("recall", folder=one.folder, split=split, beam=10) for split in splits])
    return [[fmean(values) for values in zip(*split, strict=True)] for split in zip(*found, strict=True)]


def threshold_rows(one: Set) -> list[Row]:
    """Train without pruning: memory must hold, and no zero be stored."""
    with Contestant("xrlinear_ours") as ours:
        trained = ours.ask("train", folder=one.folder, instances="queries", words=True, cold_start=False, threshold=0.0)
        zeros, features = ours.ask("zeros"), ours.ask("features")
    work = f"{one.name}, {features:,} features, threshold 0"
    memory = Row(f"{work}: peak memory", trained["peak"] / 1e6, "limit", 2000.0, "MB", ">= 1.0")
    return [memory, Row(f"{work}: stored zeros", float(zeros), "limit", 0.0, "weights", ">= 1.0")]


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
