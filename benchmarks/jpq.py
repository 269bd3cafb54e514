"""JPQ on real clicks: what training wins back of what codes lose, by size; ablations; seconds an epoch.

MiniLM vectors as stored with the collections. Settings are the defaults, and share and epochs are chosen on held-out
training clicks unless `--fast` fixes them; test queries are only measured. "won back" is the share of what OPQ lost
against flat. `--sizes 8 48` and `--sets tldr` run a part.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from benchmarks.jpq_ablation import ablation_rows
from benchmarks.jpq_model import trained_model
from benchmarks.pefa_collection import Collection
from benchmarks.rows import Row, arguments, report
from vizsla.evaluate.compare import compare
from vizsla.evaluate.comparison import Comparison
from vizsla.indexes.pq import PqIndex
from vizsla.methods.dense import Dense
from vizsla.methods.jpq.train import train_jpq
from vizsla.methods.pefa import pefa_xs
from vizsla.retriever import Retriever

SPLITS = ("test-seen", "test-unseen")
MEASURES = ("R@10", "RR@10")
SIZES = (8, 16, 24, 48)
GOALS = {8: 0.7, 16: 0.7, 24: 0.7, 48: 1.0}
"""What is to be won back on test-seen; more than all of it at 48 bytes."""


def main() -> None:
    """Measure and report."""
    warnings.simplefilter("ignore")
    given = arguments("jpq", own=_add_options)
    rows: list[Row] = []
    for name in given.sets:
        one = Collection(name)
        for size in (8,) if given.quick else given.sizes:
            rows += _size_rows(one, size, given)
    report(rows, given.json)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", default=["squad-sent", "tldr"])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), help="bytes an item")
    parser.add_argument("--bits", type=int, default=8, choices=(8, 4))
    parser.add_argument("--fast", action="store_true", help="share 0.5 and --stop epochs instead of choosing")
    parser.add_argument("--stop", type=int, default=3, help="epochs that --fast takes (default: 3)")
    parser.add_argument("--epochs", type=int, default=3, help="that are planned (default: 3)")
    parser.add_argument("--share", type=float, help="of the click loss, instead of choosing")
    parser.add_argument("--rates", nargs=2, type=float, metavar=("ADAPTER", "CENTROIDS"), help="instead of ours")
    parser.add_argument("--handicap", type=_auto, default=0.0, help="of items with clicks, or auto (default: 0)")
    parser.add_argument("--recodings", type=int, default=0, help="epochs after which clicked items are coded anew")
    parser.add_argument("--rounds", type=int, default=50, help="of OPQ")
    parser.add_argument("--indexes", metavar="FOLDER", help="keep what OPQ made there for other runs")
    parser.add_argument("--ablation", action="store_true", help="the steps of section 5.3, too")
    parser.add_argument("--teachers", nargs="+", default=["flat"], choices=("flat", "pefa"), help="pefa is PEFA-XS")
    parser.add_argument("--model", type=int, metavar="EPOCHS", help="train MiniLM as the query side, too, so long")
    parser.add_argument("--clicks", type=float, default=1.0, help="share of the clicks that MiniLM learns from")
    parser.add_argument("--hold-out", action="store_true", help="choose MiniLM's epochs on held-out clicks")
    parser.add_argument("--only-model", action="store_true", help="leave the adapter out")


def _size_rows(one: Collection, size: int, given: argparse.Namespace) -> list[Row]:
    """Return the rows of one collection and size."""
    flat = one.base()
    index = _index(one, size, given)
    coded = Dense(flat.items, one.encoder, index)
    how: dict[str, Any] = {"handicap": given.handicap, "epochs": given.epochs, "recodings": given.recodings}
    if given.fast or given.quick:
        how |= {"share": 0.5, "stop": given.stop}
    if given.share is not None:
        how |= {"share": given.share}
    if given.rates is not None:
        how |= dict(zip(("adapter_rate", "centroid_rate"), given.rates, strict=True))
    systems: dict[str, Retriever] = {"opq": coded, "flat": flat}
    taught: dict[str, Retriever] = {"": flat} if "flat" in given.teachers else {}
    if "pefa" in given.teachers:
        taught[" of pefa"] = systems["pefa"] = pefa_xs(flat, one.data)
    seconds = {}
    for name, teacher in taught.items() if not given.only_model else ():
        build = partial(train_jpq, coded, one.data, teacher=teacher, **how)
        seconds[f"jpq{name}"] = _timed(systems, f"jpq{name}", build)
    if given.model:
        name, teacher = list(taught.items())[-1]
        how = {"share": given.clicks, "chosen": given.hold_out, "handicap": given.handicap}
        build = partial(trained_model, one, coded, teacher, given.model, **how)
        seconds[f"jpq{name}, model"] = _timed(systems, f"jpq{name}, model", build)
    compared = {s: compare(systems, one.data, s, MEASURES, latency_queries=1) for s in SPLITS}
    label = f"{one.name}, {size} B, {given.bits} bits"
    rows = [row for split in SPLITS for row in _quality_rows(label, split, compared[split], size)]
    rows += [Row(f"{label}, {name}: all training", taken, "", None, "CPU s") for name, taken in seconds.items()]
    if given.ablation:
        rows += ablation_rows(label, one, coded, flat, SPLITS)
    return rows


def _index(one: Collection, size: int, given: argparse.Namespace) -> PqIndex:
    """Return OPQ's codes, from the folder of an earlier run if there is one."""
    if given.indexes is None:
        return PqIndex.build(one.vectors, bytes=size, bits=given.bits, rounds=given.rounds)
    kept = Path(given.indexes) / f"idx-{one.name}-{size}-{given.bits}-{given.rounds}"
    if not kept.exists():
        PqIndex.build(one.vectors, bytes=size, bits=given.bits, rounds=given.rounds).save(kept)
    return PqIndex.load(kept)


def _timed(systems: dict[str, Retriever], name: str, build: Any) -> float:
    start, clock = process_time(), perf_counter()
    systems[name] = build()
    cpu = process_time() - start
    how = getattr(systems[name], "settings", "")
    print(f"{name}: {cpu:.0f} CPU s, {perf_counter() - clock:.0f} s, {how}", file=sys.stderr, flush=True)
    choice = getattr(systems[name], "choice", None)
    for trial in [] if choice is None else choice.trials:
        print(f"{name}, {choice.measure} of held-out clicks: {trial}", file=sys.stderr, flush=True)
    return cpu


def _p(compared: Comparison, measure: str, pair: set[str]) -> float:
    """Return the p-value of the difference between two systems."""
    return next(float(test.p) for test in compared.tests if {test.a, test.b} == pair and test.measure == measure)


def _auto(given: str) -> float | str:
    return given if given == "auto" else float(given)


def _quality_rows(label: str, split: str, compared: Comparison, size: int) -> list[Row]:
    rows = []
    for measure in MEASURES:
        value = {name: float(compared.evaluations[name].measures[measure]) for name in compared.names}
        lost = value["flat"] - value["opq"]
        for name in (name for name in compared.names if name.startswith("jpq")):
            p = {other: _p(compared, measure, {name, other}) for other in ("opq", "flat")}
            note = ", ".join(f"{other} {value[other]:.4f} (p {p[other]:.2g})" for other in p)
            back = (value[name] - value["opq"]) / lost
            goal = GOALS.get(size, 0.7) if split == "test-seen" else 0.35 if (size, measure) == (8, "R@10") else 0.0
            work = f"{label} {split} {measure}, {name}"
            rows.append(Row(work, value[name], "opq", value["opq"], "", ">= 1", False, note))
            rows.append(Row(f"{work}: won back", back, "goal", goal, "", ">= 1" if goal else "", False))
    return rows


if __name__ == "__main__":
    main()
