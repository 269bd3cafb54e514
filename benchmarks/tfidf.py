"""TF-IDF and PEFA-XS over it: quality on seen and unseen items, time to encode and search, bytes, rows cut short.

Weight and length are chosen on held-out training clicks. "cold=0" tells PEFA that all queries to come are about items
that have clicks, "cold=0.5" (its default) that half of them are not. The goals are those of a trial that scored
exhaustively and favored items with clicks, so "cold=0" is compared with them; the default misses tldr's seen ones.
Times are CPU times of one query from Python, one thread: each query's least over the rounds, then the median.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from time import process_time

from benchmarks.corpus import data_folder
from benchmarks.cpu_times import single_query_us
from benchmarks.rows import Row, arguments, report
from benchmarks.tfidf_compact import compact_rows
from vizsla.base.retriever import Retriever
from vizsla.data.dataset import Dataset
from vizsla.evaluation import evaluate
from vizsla.methods.bm25 import bm25
from vizsla.methods.pefa import PefaXs, pefa_xs
from vizsla.methods.pefa.blending import grown_log
from vizsla.methods.pefa.options import XsSettings
from vizsla.methods.tfidf import Tfidf, tfidf
from vizsla.methods.xrlinear.build import xrlinear

SPLITS, MEASURES = ("test-seen", "test-unseen"), ("R@10", "R@100", "RR@10")
GOALS = {
    ("tldr", "test-seen"): (0.641, 0.812, 0.444),
    ("tldr", "test-unseen"): (0.370, 0.584, 0.215),
    ("squad-sent", "test-seen"): (0.835, 0.953, 0.640),
    ("squad-sent", "test-unseen"): (0.726, 0.882, 0.512),
}
REACHES = "xs cold=0"
FAST, MOST_US = "xs cold=0.2", 100.0
"""What must answer within so many microseconds on tldr, at an R@10 of .635."""
QUICK = XsSettings(0.5, length=0.7)
ENTRIES = (256, 128, 64, 32)
SINGLE = 400


def main() -> None:
    """Measure and report."""
    warnings.simplefilter("ignore")
    given = arguments("tfidf")
    rows: list[Row] = []
    for name in ("tldr",) if given.quick else ("tldr", "squad-sent"):
        rows += _collection(name, quick=given.quick, rounds=3 if given.quick else 21 if given.full else 9)
    report(rows, given.json)


def _collection(name: str, *, quick: bool, rounds: int) -> list[Row]:
    data = Dataset.open(data_folder() / name)
    base = tfidf(data)
    systems: dict[str, Retriever] = {"bm25": bm25(data), "tfidf": base}
    rows: list[Row] = []
    if quick:
        systems[FAST] = PefaXs.build(base, grown_log(base, data), QUICK)
    else:
        rows += _choose(name, base, data, systems)
        systems["xrlinear beam 50"] = xrlinear(data, threads=2).with_effort(50)
    print(f"{name}: built", file=sys.stderr)
    for split in SPLITS:
        for system, retriever in systems.items():
            rows += _quality(name, split, system, retriever, data)
    rows += _costs(name, systems, data, rounds) + _curve(name, base, systems[FAST], data, rounds)
    return rows if quick else rows + compact_rows(name, systems[FAST], data)


def _choose(name: str, base: Tfidf, data: Dataset, systems: dict[str, Retriever]) -> list[Row]:
    rows = []
    for cold in (0.5, 0.2, 0.0):
        start = process_time()
        built = systems[f"xs cold={cold:g}"] = pefa_xs(base, data, cold=cold)
        seconds, chosen = process_time() - start, built.settings
        note = f"weight {chosen.weight:g}, length {chosen.length}, scale {chosen.scale:g}"
        rows.append(Row(f"{name} choosing and building, cold={cold:g}", seconds, "", None, "s CPU", note=note))
    return rows


def _measured(retriever: Retriever, data: Dataset, split: str) -> list[float]:
    found = evaluate(retriever, data, split, MEASURES, latency_queries=1).measures
    return [float(found[measure]) for measure in MEASURES]


def _quality(name: str, split: str, system: str, retriever: Retriever, data: Dataset) -> list[Row]:
    goals = GOALS[name, split] if system == REACHES else (None,) * 3
    rows = []
    for measure, value, goal in zip(MEASURES, _measured(retriever, data, split), goals, strict=True):
        # Goals have three digits, and so has what is compared with them.
        what = (round(value, 3), "trial", goal, "", ">= 1") if goal is not None else (value, "", None, "")
        rows.append(Row(f"{name} {split} {measure}, {system}", *what, lower_is_better=False))
    return rows


def _costs(name: str, systems: Mapping[str, Retriever], data: Dataset, rounds: int) -> list[Row]:
    texts = data.query_texts("test-seen")[1][:SINGLE]
    fast = systems[FAST]
    assert isinstance(fast, PefaXs)
    encoded = {text: fast.encode(text) for text in texts}
    calls = {system: (lambda text, r=retriever: r(text, k=10)) for system, retriever in systems.items()}
    parts = {"encode": fast.encode, "search": lambda text: fast.index.search(encoded[text], 10)}
    times = single_query_us({**calls, **parts}, texts, rounds=rounds)
    rows = [Row(f"{name} index, {system}", r.nbytes / 1e6, "", None, "MB") for system, r in systems.items()]
    for system in systems:
        limit = (MOST_US, "µs CPU", ">= 1") if (name, system) == ("tldr", FAST) else (None, "µs CPU")
        rows.append(Row(f"{name} one query, {system}", times[system], "limit" if len(limit) > 2 else "", *limit))
    terms = sum(len(rows_.columns) for rows_ in encoded.values()) / len(encoded)  # type: ignore[union-attr]
    note = f"{terms:.0f} n-grams a query"
    return rows + [Row(f"{name} {part}, {FAST}", times[part], "", None, "µs CPU", note=note) for part in parts]


def _curve(name: str, base: Tfidf, full: Retriever, data: Dataset, rounds: int) -> list[Row]:
    """Return recall, bytes and time where rows are cut to their heaviest entries, with the settings of the whole."""
    assert isinstance(full, PefaXs)
    cut: dict[str, Retriever] = {"all": full}
    for entries in ENTRIES:
        smaller = tfidf(data, encoder=base.encoder, entries=entries)
        cut[str(entries)] = PefaXs.build(smaller, full.log, full.settings)
    texts = data.query_texts("test-seen")[1][:SINGLE]
    times = single_query_us({n: (lambda text, r=r: r(text, k=10)) for n, r in cut.items()}, texts, rounds=rounds)
    rows, whole = [], {split: _measured(full, data, split)[0] for split in SPLITS}
    for entries, retriever in cut.items():
        work = f"{name} {entries} entries"
        for split in SPLITS:
            value = _measured(retriever, data, split)[0]
            rows.append(Row(f"{work}, {split} R@10", value, "all", whole[split], "", "", False))
        rows.append(Row(f"{work}, index", retriever.index.nbytes / 1e6, "all", full.index.nbytes / 1e6, "MB"))  # type: ignore[attr-defined]
        rows.append(Row(f"{work}, one query", times[entries], "all", times["all"], "µs CPU"))
    return rows


if __name__ == "__main__":
    main()
