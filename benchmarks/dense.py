"""Dense indexes: recall@100 of exact search, time a query, build time and bytes, by kind and storage.

Vectors: squad-sent as MiniLM made them (stored with the data), debian-synopsis by LSA in 256 dimensions; test queries.
Everything on one thread. `python -m benchmarks.dense [--quick|--full] [--json FILE]`; --full also sweeps a setting.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from time import perf_counter, process_time

import numpy as np

from benchmarks.contestant import ONE_THREAD
from benchmarks.corpus import data_folder
from benchmarks.rows import Row, arguments, median, report
from vizsla.data.dataset import Dataset
from vizsla.encoders.lsa import LsaEncoder
from vizsla.indexes.dense_index import DenseIndex
from vizsla.indexes.factory import make_index

K, SINGLE, ROUNDS = 100, 50, 5
KINDS = (("hnsw", "float32"), ("hnsw", "float16"), ("hnsw", "int8"), ("ivf", "float32"), ("ivf", "int8"))
NARROW = (0.5, 0.1, 0.01)


def squad(queries: int) -> tuple[np.ndarray, np.ndarray]:
    folder = data_folder() / "squad-sent"
    vectors = np.load(folder / "emb" / "corpus.minilm-l6-v2.f16.npy").astype(np.float32)
    judged, asked = Dataset.open(folder).qrels("test-unseen"), np.load(folder / "emb" / "queries.minilm-l6-v2.f16.npy")
    return vectors, asked[np.flatnonzero(np.diff(judged.indptr))][:queries].astype(np.float32)


def debian(queries: int) -> tuple[np.ndarray, np.ndarray]:
    data = Dataset.open(data_folder() / "debian-synopsis")
    texts = [item.default_text() for item in data.items]
    lsa = LsaEncoder.fit(texts)
    return lsa.items(texts), lsa.queries(data.query_texts("test")[1][:queries])


def recall(index: DenseIndex, queries: np.ndarray, truth: DenseIndex, allowed: np.ndarray | None = None) -> float:
    """Return the share of the exact best 100 (over unquantized vectors) that the index finds."""
    found, exact = index.search(queries, K, filter=allowed), truth.search(queries, K, filter=allowed)
    both = [np.isin(exact.row(row)[0], found.row(row)[0]).mean() for row in range(len(queries))]
    return float(np.mean(both))


def milliseconds(index: DenseIndex, queries: np.ndarray, *, batch: bool) -> float:
    """Return the CPU time of a query, the median of some rounds."""
    times = []
    for _ in range(ROUNDS):
        start = process_time()
        if batch:
            index.search(queries, K)
        else:
            for row in queries[:SINGLE]:
                index.search(row[None], K)
        times.append((process_time() - start) * 1e3 / (len(queries) if batch else SINGLE))
    return median(times) or 0.0


def rows_of(name: str, vectors: np.ndarray, queries: np.ndarray, *, full: bool) -> Iterator[Row]:
    truth = make_index("flat", vectors)
    flat = {batch: milliseconds(truth, queries, batch=batch) for batch in (True, False)}
    for storage in ("float16", "int8"):
        small = make_index("flat", vectors, storage=storage)
        work = f"{name}, flat {storage}"
        yield Row(f"{work}: recall@100", recall(small, queries, truth), "exact", 1.0, "", ">= 0.9", False)
        yield Row(f"{work}: bytes", small.nbytes / 1e6, "flat float32", truth.nbytes / 1e6, "MB", ">= 1")
    for kind, storage in KINDS:
        start = perf_counter()
        index = make_index(kind, vectors, storage=storage)
        seconds, work = perf_counter() - start, f"{name}, {kind} {storage}"
        least = ">= 0.99" if (kind, storage) == ("hnsw", "float32") else ">= 0.95"
        note = f"probes {index.probes} of {len(index.centers)} lists" if kind == "ivf" else ""
        yield Row(f"{work}: recall@100", recall(index, queries, truth), "exact", 1.0, "", least, False, note)
        for batch, what in ((True, "batch"), (False, "single")):
            ours = milliseconds(index, queries, batch=batch)
            yield Row(f"{work}: {what}", ours, "flat float32", flat[batch], "ms CPU", ">= 0")
        yield Row(f"{work}: build", seconds, "limit", 600.0, "s", ">= 1")
        yield Row(f"{work}: bytes", index.nbytes / 1e6, "flat float32", truth.nbytes / 1e6, "MB", ">= 0")
        if storage == "float32":
            yield from masked(work, index, queries, truth)
            yield from swept(work, index, queries, truth) if full else ()


def masked(work: str, index: DenseIndex, queries: np.ndarray, truth: DenseIndex) -> Iterator[Row]:
    for share in NARROW:
        allowed = np.random.default_rng(0).random(len(truth)) < share
        found = recall(index, queries, truth, allowed)
        yield Row(f"{work}, {share:.0%} allowed: recall@100", found, "exact", 1.0, "", ">= 0.97", False)


def swept(work: str, index: DenseIndex, queries: np.ndarray, truth: DenseIndex) -> Iterator[Row]:
    if index.kind == "hnsw":
        others = {f"ef {ef}": index.with_effort(ef) for ef in (100, 150, 200, 300, 500)}
    else:
        lists = len(index.centers)
        others = {f"probes {lists // part}": index.with_effort(max(1, lists // part)) for part in (32, 16, 8, 4, 2)}
    for what, other in others.items():
        note = f"{milliseconds(other, queries, batch=True):.3f} ms CPU a query in a batch"
        yield Row(f"{work}, {what}: recall@100", recall(other, queries, truth), "exact", 1.0, "", ">= 0", False, note)


def main() -> None:
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        # An idle BLAS thread spins, and its CPU time would be counted; the number is read when numpy is imported.
        command = [sys.executable, "-m", "benchmarks.dense", *sys.argv[1:]]
        raise SystemExit(subprocess.run(command, env=os.environ | ONE_THREAD).returncode)
    given, rows = arguments("dense"), []
    for name, make in {"squad-sent MiniLM": squad, "debian-synopsis LSA": debian}.items():
        if given.quick and name.startswith("debian"):
            continue
        vectors, queries = make(100 if given.quick else 500)
        for row in rows_of(name, vectors, queries, full=given.full):
            rows.append(row)
            print(f"{row.work}: {row.ours:.4g} {row.note}", file=sys.stderr, flush=True)
    report(rows, given.json)


if __name__ == "__main__":
    main()
