"""Fusions on real clicks: single methods, equal sums, reciprocal rank fusion, and weights learned on held-out clicks.

Four sets, test queries about items with clicks ("seen") and without ("unseen") apart; everything is learned from
training clicks. The tables on stderr mark a fusion that is significantly better (+) or worse (−) than its best part by
a paired randomisation test, p < 0.05; the rows say whether the goals are met. `ms` is CPU time of one query, k = 10,
encoding by MiniLM left out. Vectors that the collections lack are made once and kept (`minilm_vectors.py`); of
debian-deps a part of the queries is taken unless --full.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Mapping
from time import perf_counter, process_time

from benchmarks.cpu_times import single_query_us
from benchmarks.fusion_methods import EQUAL, FUSED, METHODS, equal_sums
from benchmarks.fusion_rows import LEARNED, MEASURES, Measured, figure_rows, goal_rows, table
from benchmarks.fusion_sets import SEEN, UNSEEN, FusionSet, open_set
from benchmarks.rows import Row, arguments, report
from vizsla.evaluate.evaluate import evaluate
from vizsla.methods.fuse import learn_fusion
from vizsla.retriever import Retriever

SETS = ("tldr", "squad-sent", "debian-deps", "demo")
LEARNING_LIMIT = 10.0
TIMED = 100


def main() -> None:
    """Measure, and print tables and rows."""
    warnings.simplefilter("ignore")
    given = arguments("fusion", own=_add_sets)
    rows: list[Row] = []
    for name in ("tldr",) if given.quick else given.sets:
        rows += set_rows(open_set(name, whole=given.full), quick=given.quick)
    report(rows, given.json)


def _add_sets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, help="which sets (default: all)")


def set_rows(one: FusionSet, *, quick: bool) -> list[Row]:
    """Return the rows of one set: goals first, then what learning took, then every figure."""
    fused = dict(list(FUSED.items())[:1]) if quick else FUSED
    singles = _built(one, {part for parts in fused.values() for part in parts})
    systems, rows = dict(singles), []
    for name, parts in fused.items():
        chosen = {part: singles[part] for part in parts}
        systems |= {f"{name}: {how}": system for how, system in equal_sums(chosen).items()}
        systems[f"{name}: {LEARNED}"], row = _learned(one, name, chosen)
        rows.append(row)
    for split in (SEEN, UNSEEN):
        rows += _split_rows(one, split, systems, fused, rounds=2 if quick else 5)
    return rows


def _built(one: FusionSet, wanted: set[str]) -> dict[str, Retriever]:
    built: dict[str, Retriever] = {}
    for name in (name for name in METHODS if name in wanted):
        start = perf_counter()
        built[name] = METHODS[name](one, built)
        print(f"{one.name}: {name} in {perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    return built


def _learned(one: FusionSet, name: str, parts: Mapping[str, Retriever]) -> tuple[Retriever, Row]:
    start = process_time()
    fusion = learn_fusion(parts, one.data)
    spent = process_time() - start
    own = sum(seconds for what, seconds in fusion.seconds.items() if what != "refit")
    note = f"{spent:.1f} s CPU in all; by the clock {_said(fusion.seconds)}; {one.data.clicks.nnz:,} clicks"
    print(f"{one.name}: {fusion.said} {note}", file=sys.stderr, flush=True)
    work = f"{one.name}, {name}: learning beside building"
    return fusion.retriever, Row(work, own, "limit", LEARNING_LIMIT, "s", ">= 1", True, f"{note}. {fusion.said}")


def _said(seconds: Mapping[str, float]) -> str:
    return ", ".join(f"{what} {spent:.1f} s" for what, spent in seconds.items())


def _split_rows(
    one: FusionSet, split: str, systems: Mapping[str, Retriever], fused: Mapping[str, tuple[str, ...]], *, rounds: int
) -> list[Row]:
    texts = one.texts(split)
    if not texts:
        return []
    evaluations = {
        name: evaluate(system, one.data, split, MEASURES, latency_queries=1, name=name)
        for name, system in systems.items()
    }
    calls = {name: (lambda text, system=system: system(text, 10)) for name, system in systems.items()}
    us = single_query_us(calls, texts[:: max(1, len(texts) // TIMED)][:TIMED], rounds=rounds)
    megabytes = {name: system.nbytes / 1e6 for name, system in systems.items()}
    found = Measured(f"{one.name} {split} ({len(texts):,} queries)", evaluations, us, megabytes)
    hows = (*EQUAL, LEARNED)
    parts_of = {f"{name}: {how}": parts for name, parts in fused.items() for how in hows}
    print(table(found, parts_of), file=sys.stderr, flush=True)
    rows = []
    for name, parts in fused.items():
        rows += goal_rows(found, parts, name, [f"{name}: {how}" for how in EQUAL])
    return rows + figure_rows(found, [name for name in systems if name in METHODS])


if __name__ == "__main__":
    main()
