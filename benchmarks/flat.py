"""Flat search on one thread against memory, Faiss and BLAS, quiet and beside two busy processes; prepared filters.

Vectors: squad-sent as MiniLM made them, and 100,000 random ones of the same 384 dimensions. "memory" reads the same
bytes and only adds them up. All times are CPU times. `python -m benchmarks.flat [--quick|--full] [--json FILE]`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import process_time
from typing import Any

import numpy as np

from benchmarks.contestant import ONE_THREAD
from benchmarks.dense import squad
from benchmarks.rows import Row, arguments, median, report
from vizsla.data.filter import Filter
from vizsla.indexes._faiss import load_faiss
from vizsla.indexes.dense_index import DenseIndex
from vizsla.indexes.factory import make_index

K, BATCH = 100, 256
SHARES = (0.5, 0.01, 0.001)
NEAR_MEMORY, UNMASKED = ">= 0.769", ">= 0.667"  # within 1.3 times the memory; at most 1.5 times the unfiltered search

Work = Callable[[], Any]


def milliseconds(works: dict[str, Work], *, rounds: int) -> dict[str, float]:
    """Return the CPU time of each work; all take turns, round by round, so that a busy spell meets everybody."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            start = process_time()
            work()
            times[name].append((process_time() - start) * 1e3)
    return {name: median(taken) or 0.0 for name, taken in times.items()}


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Let some other processes work as long as the block runs."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def random_vectors(count: int) -> np.ndarray:
    vectors = np.random.default_rng(0).standard_normal((count, 384), dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def single(name: str, vectors: np.ndarray, queries: np.ndarray, *, rounds: int) -> Iterator[Row]:
    faiss = load_faiss()

    faiss.omp_set_num_threads(1)
    peer = faiss.IndexFlatIP(vectors.shape[1])
    peer.add(vectors)
    query, indexes = queries[:1], {s: make_index("flat", vectors, storage=s) for s in ("float32", "float16", "int8")}
    works: dict[str, Work] = {"faiss": lambda: peer.search(query, K)}
    for storage, index in indexes.items():
        words = index.stored.rows.reshape(-1).view(np.uint64)
        works |= {f"memory {storage}": words.sum, storage: lambda index=index: index.search(query, K)}
    for processes, state in ((0, ""), (2, ", 2 busy processes")):
        with busy(processes):
            taken = milliseconds(works, rounds=rounds)
        for storage in indexes:
            work, target = f"{name}, {storage}, one query{state}", NEAR_MEMORY if storage == "float32" else ""
            yield Row(work, taken[storage], "memory", taken[f"memory {storage}"], "ms", target)
        work = f"{name}, float32, one query{state}"
        yield Row(work, taken["float32"], "Faiss IndexFlatIP", taken["faiss"], "ms", ">= 1")


def batch(name: str, vectors: np.ndarray, queries: np.ndarray, *, rounds: int) -> Iterator[Row]:
    index = make_index("flat", vectors)
    works: dict[str, Work] = {"ours": lambda: index.search(queries, K), "blas": lambda: queries @ vectors.T}
    taken = milliseconds(works, rounds=rounds)
    work = f"{name}, float32, {len(queries)} queries"
    yield Row(work, taken["ours"], "BLAS, products only", taken["blas"], "ms")


def filtered(name: str, index: DenseIndex, queries: np.ndarray, *, rounds: int) -> Iterator[Row]:
    """A query under prepared filters against the same without; HNSW also says what it finds of the exact answer."""
    asked = iter(np.resize(queries, (rounds * 2 * (len(SHARES) + 1), queries.shape[1])))
    made = {share: Filter(np.random.default_rng(1).random(len(index)) < share) for share in SHARES}
    works: dict[str, Work] = {"all": lambda: index.search(next(asked)[None], K)}
    for share, chosen in made.items():
        index.search(queries[:1], K, filter=chosen)  # what is derived from a filter once
        works[f"{share}"] = lambda chosen=chosen: index.search(next(asked)[None], K, filter=chosen)
    taken = milliseconds(works, rounds=rounds)
    for share, chosen in made.items():
        note = f"recall@100 {recall(index, queries, chosen):.4f}" if not index.exact else ""
        work = f"{name}, {share:.1%} allowed"
        yield Row(work, taken[f"{share}"], "all allowed", taken["all"], "ms", UNMASKED, note=note)


def recall(index: Any, queries: np.ndarray, chosen: Filter) -> float:
    found, exact = (index.search(queries, K, filter=chosen, exact=exact) for exact in (False, True))
    return float(np.mean([np.isin(exact.row(q)[0], found.row(q)[0]).mean() for q in range(len(queries))]))


def main() -> None:
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        # For BLAS, the peer: it reads the number when numpy is imported. Ours asks no BLAS.
        command = [sys.executable, "-m", "benchmarks.flat", *sys.argv[1:]]
        raise SystemExit(subprocess.run(command, env=os.environ | ONE_THREAD).returncode)
    given, rows = arguments("flat"), []
    rounds = 15 if given.quick else 101
    vectors, queries = squad(BATCH)
    larger = random_vectors(20_000 if given.quick else 100_000)
    for name, made in {f"{len(some):,} × {some.shape[1]}": some for some in (vectors, larger)}.items():
        rows += single(name, made, queries, rounds=rounds)
        rows += filtered(f"{name}, flat", make_index("flat", made), queries, rounds=rounds)
        rows += batch(name, made, queries, rounds=3 if given.quick else 7)
        if not given.quick and (given.full or made is vectors):  # a graph over 100,000 items takes minutes
            rows += filtered(f"{name}, HNSW", make_index("hnsw", made), queries, rounds=rounds)
    report(rows, given.json)


if __name__ == "__main__":
    main()
