"""Prepared filters against no filter: tree, BM25, flat and HNSW with 50 % to 0.1 % of the items allowed.

One query at a time, encoded beforehand, in one thread: what is measured is the index. A seeded click log of 20,000
items serves all; --full adds tree and BM25 over 200,000, --quick takes 3,000. A filter is used a while before the clock
starts, as a service would; the time of its very first query is in the notes.
`python -m benchmarks.filters [--quick|--full] [--json FILE]`
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.contestant import ONE_THREAD
from benchmarks.rows import Row, arguments, median, report
from benchmarks.xrlinear_log import write_log
from vizsla import Dataset, bm25, dense, xrlinear
from vizsla.base.encoder import Rows
from vizsla.base.index_retriever import IndexRetriever
from vizsla.data.filter import Filter
from vizsla.encoders.lsa import LsaEncoder

SHARES = {"50 %": 0.5, "5 %": 0.05, "2 %": 0.02, "1 %": 0.01, "0.1 %": 0.001}
SLOWER = 1.5
"""A filtered query may take this many times as long as one without a filter."""
WARM = 100
ROUNDS = 7


def main() -> None:
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        # An idle BLAS thread spins, and its CPU time would be counted; the number is read when numpy is imported.
        command = [sys.executable, "-m", "benchmarks.filters", *sys.argv[1:]]
        raise SystemExit(subprocess.run(command, env=os.environ | ONE_THREAD).returncode)
    given, rows = arguments("filters"), []
    sizes = {3_000: ALL} if given.quick else {20_000: ALL}
    if given.full:
        sizes[200_000] = {name: ALL[name] for name in ("tree", "BM25")}
    with tempfile.TemporaryDirectory() as folder:
        for items, makers in sizes.items():
            data = Dataset.open(write_log(Path(folder) / str(items), items))
            for row in rows_of(data, makers, f"log-{items // 1000}k", queries=100 if given.quick else 300):
                rows.append(row)
                print(f"{row.work}: {row.ours:.4g} against {row.theirs:.4g} {row.note}", file=sys.stderr, flush=True)
    report(rows, given.json)


def _flat(data: Dataset) -> IndexRetriever:
    return dense(data, encoder=_lsa(data), index="flat")


def _hnsw(data: Dataset) -> IndexRetriever:
    return dense(data, encoder=_lsa(data), index="hnsw")


def _lsa(data: Dataset) -> LsaEncoder:
    return LsaEncoder.fit([item.default_text() for item in data.items], dim=128)


ALL: dict[str, Callable[[Dataset], IndexRetriever]] = {
    "tree": lambda data: xrlinear(data),
    "BM25": lambda data: bm25(data),
    "flat": _flat,
    "HNSW": _hnsw,
}


def rows_of(data: Dataset, makers: dict[str, Any], name: str, *, queries: int) -> Iterator[Row]:
    """Compare each retriever with itself, unfiltered, for short answers and long ones."""
    texts = data.query_texts("test")[1][:queries]
    for kind, make in makers.items():
        retriever = make(data)
        encoded = [retriever.encode([text]) for text in texts]
        for k in (10, 100):
            yield from filtered_rows(f"{name}, {kind}, k = {k}", retriever, encoded, k)


def filtered_rows(work: str, retriever: IndexRetriever, queries: list[Rows], k: int) -> Iterator[Row]:
    """Take turns, round by round, and compare the medians; say what a limited effort finds of the exact answer."""
    filters = {share: _filter(len(retriever.items), part) for share, part in SHARES.items()}
    first = {share: _first(retriever, queries, k, filter) for share, filter in filters.items()}
    times: dict[str | None, list[float]] = {share: [] for share in (None, *filters)}
    for _ in range(ROUNDS):
        for share, taken in times.items():
            taken.append(_microseconds(retriever, queries, k, filters.get(share or "")))
    unfiltered = median(times[None])
    for share, filter in filters.items():
        note = f"first query {first[share]:.0f} us{_found(retriever, queries, k, filter)}"
        target, what = f">= {1 / SLOWER:.3f}", f"{work}, {share} allowed"
        yield Row(what, median(times[share]), "unfiltered", unfiltered, "us CPU", target, note=note)


def _filter(items: int, share: float) -> Filter:
    return Filter(np.random.default_rng(0).random(items) < share)


def _first(retriever: IndexRetriever, queries: list[Rows], k: int, filter: Filter) -> float:
    """Return the time of a filter's first query, and use it a while."""
    start = perf_counter()
    retriever.index.search(queries[0], k, filter=filter)
    taken = (perf_counter() - start) * 1e6
    for row in range(WARM):
        retriever.index.search(queries[row % len(queries)], k, filter=filter)
    return taken


def _microseconds(retriever: IndexRetriever, queries: list[Rows], k: int, filter: Filter | None) -> float:
    start = process_time()
    for row in queries:
        retriever.index.search(row, k, filter=filter)
    return (process_time() - start) * 1e6 / len(queries)


def _found(retriever: IndexRetriever, queries: list[Rows], k: int, filter: Filter) -> str:
    index = retriever.index
    if index.effort is None:
        return ""
    exact, shares = index.with_effort(len(index)), []
    for row in queries[:100]:
        best = exact.search(row, k, filter=filter).items
        shares.append(np.isin(best, index.search(row, k, filter=filter).items).mean() if len(best) else 1.0)
    return f", finds {np.mean(shares):.4f} of the exact answer"


if __name__ == "__main__":
    main()
