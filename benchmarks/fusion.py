"""Fusions on real clicks: single methods, equal sums, reciprocal rank fusion, and weights learned on held-out clicks.

Six sets, test queries about items with clicks ("seen") and without ("unseen") apart, then together; everything is
learned from training clicks. The tables on stderr mark a fusion that is significantly better (+) or worse (−) than its
best part by a paired randomization test, p < 0.05; the rows say whether the goals are met. `ms` is CPU time of one
query, k = 10, encoding by MiniLM left out. Vectors that the collections lack are made once and kept
(`minilm_vectors.py`); of debian-deps a part of the queries is taken unless --full.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Mapping, Sequence
from time import process_time

from benchmarks.cpu_times import single_query_us
from benchmarks.fusion_methods import EQUAL, FUSED, METHODS, WITHOUT_VECTORS, equal_sums
from benchmarks.fusion_rows import LEARNED, MEASURES, Measured, figure_rows, goal_rows, table, whole_test
from benchmarks.fusion_sets import LOGS, SEEN, UNSEEN, FusionSet, open_set
from benchmarks.remembered import Remembered, swapped
from benchmarks.rows import Row, arguments, report
from vizsla.base.retriever import Retriever
from vizsla.evaluation.evaluate import evaluate
from vizsla.methods.fusion import learn_fusion

SETS = ("tldr", "squad-sent", "debian-deps", "demo", *LOGS)
LEARNING_LIMIT = 10.0
TIMED = 50


def main() -> None:
    """Measure, and print tables and rows."""
    warnings.simplefilter("ignore")
    given = arguments("fusion", own=_add_sets)
    rows: list[Row] = []
    fused = {name: FUSED[name] for name in (list(FUSED)[:1] if given.quick else given.fusions)}
    for name in ("tldr",) if given.quick else given.sets:
        possible = {own: parts for own, parts in fused.items() if name not in LOGS or own in WITHOUT_VECTORS}
        rows += set_rows(open_set(name, whole=given.full), possible, rounds=2 if given.quick else 3)
    report(rows, given.json)


def _add_sets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, help="which sets (default: all)")
    parser.add_argument("--fusions", nargs="+", choices=list(FUSED), default=list(FUSED), help="default: all")


def set_rows(one: FusionSet, fused: Mapping[str, Sequence[str]], *, rounds: int) -> list[Row]:
    """Return the rows of one set, fusion by fusion: what learning took, the goals, and every figure."""
    rows: list[Row] = []
    built: dict[str, Retriever] = {}
    for name, wanted in fused.items():
        parts = {part: _built(one, part, built) for part in wanted}
        learned, row = _learned(one, name, parts)
        systems = {**parts, **_prefixed(name, {**equal_sums(parts), LEARNED: learned})}
        rows.append(row)
        splits = [_measured(one, split, systems, wanted, rounds=rounds) for split in (SEEN, UNSEEN) if one.texts(split)]
        if len(splits) > 1:
            splits.append(whole_test(*splits, f"{one.name} whole test"))
        for found in splits:
            rows += _said_rows(found, name, wanted)
    return rows


def _built(one: FusionSet, name: str, built: dict[str, Retriever]) -> Retriever:
    if name not in built:
        start = process_time()
        built[name] = METHODS[name](one, built)
        print(f"{one.name}: {name} in {process_time() - start:.1f} s CPU", file=sys.stderr, flush=True)
    return built[name]


def _prefixed(name: str, systems: Mapping[str, Retriever]) -> dict[str, Retriever]:
    return {f"{name}: {how}": system for how, system in systems.items()}


def _learned(one: FusionSet, name: str, parts: Mapping[str, Retriever]) -> tuple[Retriever, Row]:
    start = process_time()
    fusion = learn_fusion(parts, one.data)
    spent = process_time() - start
    own = sum(seconds for what, seconds in fusion.seconds.items() if what != "refit")
    note = f"{spent:.1f} s CPU in all: {_said(fusion.seconds)}; {one.data.clicks.nnz:,} clicks"
    print(f"{one.name}: {fusion.summary} {note}", file=sys.stderr, flush=True)
    work = f"{one.name}, {name}: learning beside building"
    return fusion.retriever, Row(work, own, "limit", LEARNING_LIMIT, "s CPU", ">= 1", True, f"{note}. {fusion.summary}")


def _said(seconds: Mapping[str, float]) -> str:
    return ", ".join(f"{what} {spent:.1f} s" for what, spent in seconds.items())


def _measured(
    one: FusionSet, split: str, systems: Mapping[str, Retriever], parts: Sequence[str], *, rounds: int
) -> Measured:
    texts = one.texts(split)
    # Every sum searches the same parts: measured once, they are remembered.
    once: dict[int, Retriever] = {id(systems[part]): Remembered(systems[part]) for part in parts}
    evaluations = {
        name: evaluate(swapped(system, once), one.data, split, MEASURES, latency_queries=0, name=name)
        for name, system in systems.items()
    }
    calls = {name: (lambda text, system=system: system(text, 10)) for name, system in systems.items()}
    us = single_query_us(calls, texts[:: max(1, len(texts) // TIMED)][:TIMED], rounds=rounds)
    megabytes = {name: system.nbytes / 1e6 for name, system in systems.items()}
    return Measured(f"{one.name} {split} ({len(texts):,} queries)", evaluations, us, megabytes)


def _said_rows(found: Measured, fused: str, parts: Sequence[str]) -> list[Row]:
    """Print the table of a split, and return its goals and figures."""
    sums = [name for name in found.evaluations if name not in parts]
    print(table(found, dict.fromkeys(sums, parts)), file=sys.stderr, flush=True)
    equal = [f"{fused}: {how}" for how in EQUAL]
    return goal_rows(found, parts, fused, equal) + figure_rows(found, parts)


if __name__ == "__main__":
    main()
