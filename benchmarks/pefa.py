"""PEFA on real clicks: quality against the goals and beside the paper's formulas, clicks used, bytes, time, HNSW.

MiniLM vectors as stored with the collections, exact search, and everything chosen from training clicks unless a row
says otherwise. "paper's xs" is Eq. 8 with λ = 0.5, "paper's xl" Eq. 6 with λ = 0.1 and k = 32, which the paper found
best. Times are CPU times with one thread. `--plots FOLDER` draws the figures. `--past-queries` measures nothing but
what the storage of past queries' graphs changes.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.blas_threads import BLAS_THREADS
from benchmarks.pefa_collection import Collection
from benchmarks.pefa_costs import cost_rows, latency_rows
from benchmarks.pefa_figures import clicks_rows, weight_rows
from benchmarks.pefa_graph import PAPER, graph_rows, synopsis_rows
from benchmarks.pefa_past_queries import past_query_rows
from benchmarks.pefa_quality import quality_rows
from benchmarks.rows import Row, arguments, report
from vizsla.base.retriever import Retriever
from vizsla.methods.dense import Dense
from vizsla.methods.pefa import pefa, pefa_max, pefa_xl, pefa_xs
from vizsla.methods.pefa.options import XlSettings

PAPERS_XL: dict[str, Any] = {
    "weight": 0.1, "neighbors": 32, "votes": "mean", "near": 0.0, "threshold": 0.0, "scale": 1.0,
}  # fmt: skip
QUICK_XL: dict[str, Any] = PAPERS_XL | {"weight": 0.5, "votes": "max", "near": 0.5, "threshold": 0.12}


def main() -> None:
    """Measure, report, draw."""
    warnings.simplefilter("ignore")
    given = arguments("pefa", own=_add_options)
    rows: list[Row] = []
    for name in ("tldr",) if given.quick else ("tldr", "squad-sent"):
        one = Collection(name)
        rows += _past_queries(one) if given.past_queries else _collection(one, given)
        print(f"{name}: done", file=sys.stderr)
    if not given.quick and not given.past_queries:
        rows += synopsis_rows(most=None)
    report(rows, given.json)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="draw the figures there")
    parser.add_argument("--past-queries", action="store_true", help="only float16 against float32 over past queries")


def _past_queries(one: Collection) -> list[Row]:
    chosen = pefa_xl(one.base(), one.data).settings
    print(f"{one.name} xl: {chosen}", file=sys.stderr)
    return past_query_rows(one, {"xl": chosen, "paper's xl": XlSettings(**PAPERS_XL)})


def _collection(one: Collection, given: argparse.Namespace) -> list[Row]:
    base = one.base()
    systems, seconds = _built(_builds(one, base, quick=given.quick))
    for name, system in systems.items():
        print(f"{one.name} {name}: {seconds[name]:.1f} s, {getattr(system, 'settings', '')}", file=sys.stderr)
    rows = quality_rows(one, systems) + cost_rows(one.name, systems, seconds)
    timed = {name: systems[name] for name in ("base", "xs", "xl", "pefa")}
    rounds = 3 if given.quick else 25 if given.full else 11
    rows += latency_rows(one, timed, label=f"flat, {BLAS_THREADS} thread", rounds=rounds)
    if not given.quick:
        chosen: dict[str, Any] = {name: systems[name] for name in ("pefa", "xs", "xl")}
        if given.plots is not None:
            given.plots.mkdir(parents=True, exist_ok=True)
            systems["pefa"].choice.plot(given.plots / f"{one.name}-choice.png")  # type: ignore[attr-defined]
        rows += clicks_rows(one, base, chosen, given.plots) + weight_rows(one, base, given.plots)
    if one.name == "squad-sent" or given.full:
        rows += _graphs(one, chosen["xs"], chosen["xl"], rounds=rounds)
    return rows


def _builds(one: Collection, base: Dense, *, quick: bool) -> dict[str, Callable[[], Retriever]]:
    xs: dict[str, Any] = {"weight": 0.5, "calibrated": True} if quick else {}
    best: dict[str, Any] = {"weight": 0.5, "margin": 1.25} if quick else {}
    return {
        "base": one.base,
        "pefa": lambda: pefa(base, one.data),
        "xs": lambda: pefa_xs(base, one.data, **xs),
        "max": lambda: pefa_max(base, one.data, **best),
        "xl": lambda: pefa_xl(base, one.data, **(QUICK_XL if quick else {})),
        "paper's xs": lambda: pefa_xs(base, one.data, weight=0.5, calibrated=False),
        "paper's xl": lambda: pefa_xl(base, one.data, **PAPERS_XL),
    }


def _built(builds: dict[str, Callable[[], Retriever]]) -> tuple[dict[str, Retriever], dict[str, float]]:
    systems, seconds = {}, {}
    for name, build in builds.items():
        start = perf_counter()
        systems[name] = build()
        seconds[name] = perf_counter() - start
    return systems, seconds


def _graphs(one: Collection, xs: Any, xl: Any, *, rounds: int) -> list[Row]:
    """Return the same costs where base, moved items and past queries are HNSW graphs, and the graph's recall."""
    graph = one.base(index="hnsw", threads=2, **PAPER)
    walked: dict[str, Retriever] = {
        "base": graph,
        "xs": type(xs).build(graph, xs.log, xs.settings),
        "xl": pefa_xl(graph, one.data, **vars(xl.settings)),
    }
    queries = one.encoder.queries(one.texts("test-seen"))
    rows = graph_rows(one.name, graph.index, queries, encoder="MiniLM")  # type: ignore[arg-type]
    for name, system in walked.items():
        recall = one.recall(system, "test-seen", k=10)
        exact = {"base": one.base(), "xs": xs, "xl": xl}[name]
        theirs = one.recall(exact, "test-seen", k=10)
        rows.append(Row(f"{one.name} HNSW test-seen R@10, {name}", recall, "exact", theirs, "", "", False))
    return rows + latency_rows(one, walked, label="HNSW", rounds=rounds)


if __name__ == "__main__":
    main()
