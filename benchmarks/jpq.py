"""JPQ on real clicks: what training wins back of what codes lose, by size, and whether the goals are met.

MiniLM vectors as stored with the collections. Settings are the defaults of `jpq`, but for OPQ's rounds: the weight of
the click loss, epochs and clicked margin are chosen on held-out training clicks; test queries are only measured.
"won back" is the share of what OPQ lost against flat. `--sizes 8 48` and `--sets tldr` run a part. At 48 bytes PEFA-XS
is tried as the teacher, too. `--plots FOLDER` draws the paper's Figures 4 and 5.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from benchmarks.jpq_ablation import ablation_rows
from benchmarks.jpq_goals import AS_FLAT, MEASURES, SPLITS, goal_rows
from benchmarks.jpq_model import trained_model
from benchmarks.pefa_collection import Collection
from benchmarks.rows import Row, arguments, report
from vizsla.base.retriever import Retriever
from vizsla.evaluation.compare import Comparison, compare
from vizsla.evaluation.plots import COSTS, plot_curves
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.methods.dense import Dense
from vizsla.methods.jpq.train_jpq import train_jpq
from vizsla.methods.pefa import pefa_xs

SIZES = (8, 16, 24, 48)
TIMED = 500
"""Queries that are timed for a plot."""


def main() -> None:
    """Measure and report."""
    warnings.simplefilter("ignore")
    given = arguments("jpq", own=_add_options)
    rows: list[Row] = []
    for name in given.sets:
        one, points = Collection(name), []
        for size in (8,) if given.quick else given.sizes:
            made, compared = _size_rows(one, size, given)
            rows += made
            points.append(compared)
        if given.plots:
            draw(points, name, Path(given.plots))
    report(rows, given.json)


def draw(compared: Sequence[Mapping[str, Comparison]], name: str, folder: Path) -> None:
    """Draw the paper's Figures 4 and 5: quality by bytes and by time per query, a curve for each way to code."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, (cost, (what, unit)) in product(SPLITS, {x: COSTS[x] for x in ("bytes_per_item", "ms_p50")}.items()):
        curves: dict[str, list[tuple[float, float]]] = {}
        for each in compared:
            for system, one in each[split].evaluations.items():
                point = (float(getattr(one.cost, cost)), float(one.measures[MEASURES[0]]))
                if system != "flat" or system not in curves:  # the same at all sizes
                    curves.setdefault(system, []).append(point)
        title, file = f"{name}, {split}: quality against {what}", folder / f"jpq-{name}-{split}-{what}.svg"
        plot_curves(curves, file, xlabel=unit, ylabel=MEASURES[0], title=title)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", default=["squad-sent", "tldr"])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), help="bytes an item")
    parser.add_argument("--bits", type=int, default=8, choices=(8, 4))
    parser.add_argument("--fast", action="store_true", help="share 0.5 and --stop epochs instead of choosing")
    parser.add_argument("--stop", type=int, default=3, help="epochs that --fast takes (default: 3)")
    parser.add_argument("--epochs", type=int, default=3, help="that are planned (default: 3)")
    parser.add_argument("--click-loss-weight", type=float, help="of the click loss, instead of choosing")
    parser.add_argument("--rates", nargs=2, type=float, metavar=("ADAPTER", "CENTROIDS"), help="instead of ours")
    parser.add_argument("--clicked-margin", type=_auto, default="auto", help="of items with clicks (default: auto)")
    parser.add_argument("--reassignments", type=_auto, default="auto", help="of clicked items (default: auto)")
    parser.add_argument("--rounds", type=int, default=10, help="of OPQ (default: 10)")
    parser.add_argument("--indexes", metavar="FOLDER", help="keep what OPQ made there for other runs")
    parser.add_argument("--plots", metavar="FOLDER", help="draw quality by bytes and by time, which is then measured")
    parser.add_argument("--ablation", action="store_true", help="the steps of section 5.3, too")
    parser.add_argument("--teachers", nargs="+", choices=("flat", "pefa"), help="default: flat; at 48 bytes both")
    parser.add_argument("--model", type=int, metavar="EPOCHS", help="train MiniLM as the query side, too, so long")
    parser.add_argument("--clicks", type=float, default=1.0, help="share of the clicks that MiniLM learns from")
    parser.add_argument("--hold-out", action="store_true", help="choose MiniLM's epochs on held-out clicks")
    parser.add_argument("--only-model", action="store_true", help="leave the adapter out")


def _size_rows(one: Collection, size: int, given: argparse.Namespace) -> tuple[list[Row], dict[str, Comparison]]:
    """Return the rows of one collection and size, and the comparisons by split."""
    flat = one.base()
    index = _index(one, size, given)
    coded = Dense(flat.items, one.encoder, index)
    how: dict[str, Any] = {
        "clicked_margin": given.clicked_margin,
        "epochs": given.epochs,
        "reassignments": given.reassignments,
    }
    if given.fast or given.quick:
        how |= {"click_loss_weight": 0.5, "stop": given.stop}
    if given.click_loss_weight is not None:
        how |= {"click_loss_weight": given.click_loss_weight}
    if given.rates is not None:
        how |= dict(zip(("adapter_rate", "centroid_rate"), given.rates, strict=True))
    systems: dict[str, Retriever] = {"opq": coded, "flat": flat}
    teachers = given.teachers or (["flat", "pefa"] if size == AS_FLAT else ["flat"])
    taught: dict[str, Retriever] = {"": flat} if "flat" in teachers else {}
    if "pefa" in teachers:
        taught[" of pefa"] = systems["pefa"] = pefa_xs(flat, one.data)
    seconds = {}
    for name, teacher in taught.items() if not given.only_model else ():
        build = partial(train_jpq, coded, one.data, teacher=teacher, **how)
        seconds[f"jpq{name}"] = _timed(systems, f"jpq{name}", build)
    if given.model:
        name, teacher = list(taught.items())[-1]
        how = {"share": given.clicks, "chosen": given.hold_out, "clicked_margin": given.clicked_margin}
        build = partial(trained_model, one, coded, teacher, given.model, **how)
        seconds[f"jpq{name}, model"] = _timed(systems, f"jpq{name}, model", build)
    timed = TIMED if given.plots else 1
    compared = {s: compare(systems, one.data, s, MEASURES, latency_queries=timed) for s in SPLITS}
    label = f"{one.name}, {size} B, {given.bits} bits"
    rows = [row for split in SPLITS for row in goal_rows(label, split, compared[split], size)]
    rows += [Row(f"{label}, {name}: all training", taken, "", None, "CPU s") for name, taken in seconds.items()]
    if given.ablation:
        rows += ablation_rows(label, one, coded, flat, SPLITS)
    return rows, compared


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


def _auto(given: str) -> float | str:
    return given if given == "auto" else int(given) if given.isdigit() else float(given)


if __name__ == "__main__":
    main()
