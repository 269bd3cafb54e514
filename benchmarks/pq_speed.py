"""How fast codes are searched, and how much memory it takes to make them. CPU time of one thread."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import thread_time

import numpy as np

from benchmarks.rows import Row, median
from vizsla.indexes._faiss import faiss_threads, load_faiss
from vizsla.indexes.flat import FlatIndex
from vizsla.indexes.pq.codebook import Codebook, packed
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.indexes.pq.training import encoded

ROUNDS, QUERIES, K = 9, 5, 10
BYTES = 96


def milliseconds(search: Callable[[np.ndarray], object], queries: np.ndarray) -> float:
    """Return the CPU time of a query that is asked alone: the median of some rounds."""
    times = []
    for _ in range(ROUNDS):
        start = thread_time()
        for row in queries[:QUERIES]:
            search(row[None])
        times.append((thread_time() - start) * 1e3 / QUERIES)
    return median(times) or 0.0


def clustered(count: int, dim: int, seed: int = 0) -> np.ndarray:
    """Return vectors of length 1 around some centers, as texts are around their subjects."""
    random = np.random.default_rng(seed)
    centers = random.standard_normal((200, dim), dtype=np.float32)
    vectors = centers[random.integers(0, 200, count)]
    vectors += 1.5 * random.standard_normal((count, dim), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def scan_rows(*, quick: bool) -> Iterator[Row]:
    """Yield codes against the flat index, over 150k × 768."""
    vectors = clustered(20_000 if quick else 150_000, 768)
    queries, shape = vectors[:: len(vectors) // QUERIES][:QUERIES], f"{len(vectors):,} × 768"
    exact = FlatIndex.build(vectors)
    flat = milliseconds(lambda row: exact.search(row, K), queries)
    for bits, target in ((8, ">= 4"), (4, ">= 30")):
        index = untrained(vectors, bits)
        ours = milliseconds(lambda row, index=index: index.search(row, K), queries)
        tables = milliseconds(index.tables, queries)
        speed = index.stored_codes.nbytes / 1e6 / max(ours - tables, 1e-9)
        note = f"turning the query and its tables {tables:.3f} ms, then {speed:.1f} GB/s of codes"
        what = f"{shape}, {BYTES} B, {bits} bits, one query"
        yield Row(what, ours, "flat", flat, "ms CPU", "" if quick else target, note=note)
        yield Row(what, ours, "Faiss", faiss_milliseconds(index, queries), "ms CPU", note="on rotated queries")
    yield Row("reading 14 MB, from the cache where it fits", read_speed(), "", None, "GB/s", lower_is_better=False)


def untrained(vectors: np.ndarray, bits: int) -> PqIndex:
    """Return codes for some vectors' own pieces, rotated at random: searched as trained ones are, made in seconds."""
    random, parts, count = np.random.default_rng(1), BYTES * 8 // bits, 1 << bits
    turn = np.linalg.qr(random.standard_normal((vectors.shape[1], vectors.shape[1])))[0].astype(np.float32)
    chosen = vectors[random.choice(len(vectors), count, replace=False)] @ turn.T
    book = Codebook(np.ascontiguousarray(chosen.reshape(count, parts, -1).transpose(1, 0, 2)), turn)
    return PqIndex(encoded(vectors, book, memory=1 << 28), book)


def faiss_milliseconds(index: PqIndex, queries: np.ndarray) -> float:
    """Return what Faiss takes for the same codes: IndexPQ, or IndexPQFastScan."""
    faiss = load_faiss()
    book, metric = index.codebook, faiss.METRIC_INNER_PRODUCT
    theirs = faiss.IndexPQ(book.wide, book.subspaces, book.bits, metric)
    faiss.copy_array_to_vector(book.centroids.reshape(-1), theirs.pq.centroids)
    theirs.is_trained = True
    theirs.add_sa_codes(np.ascontiguousarray(index.codes if book.bits == 8 else packed(index.codes)))
    searched = theirs if book.bits == 8 else faiss.IndexPQFastScan(theirs)
    with faiss_threads(1):
        return milliseconds(lambda row: searched.search(row, K), book.rotated(queries))


def read_speed() -> float:
    """Return how fast 14 MB of bytes are summed, in GB/s: a limit for a scan of as many codes."""
    numbers = np.ones(150_000 * BYTES // 8, np.int64)
    took = milliseconds(lambda _: numbers.max(), np.zeros((QUERIES, 1), np.float32))
    return numbers.nbytes / 1e6 / took


def guard_rows(*, quick: bool) -> Iterator[Row]:
    """Yield the guarded flat index against the plain one, over 100k × 384."""
    vectors = clustered(20_000 if quick else 100_000, 384)
    queries, shape = vectors[:: len(vectors) // QUERIES][:QUERIES], f"{len(vectors):,} × 384"
    for storage in ("float32", "float16"):
        plain, guarded = (FlatIndex.build(vectors, storage=storage, guarded=guarded) for guarded in (False, True))
        for k in (10, 100):
            times = [milliseconds(lambda row, i=index, k=k: i.search(row, k), queries) for index in (guarded, plain)]
            note = f"{guarded.search(queries[:1], k).stats.scored} vectors scored in full for the first query"
            target = ">= 3" if storage == "float32" and k == 10 and not quick else ""
            what = f"{shape} {storage}, guarded, one query, k = {k}"
            yield Row(what, times[0], "flat", times[1], "ms CPU", target, note=note)


CHILD = """
import sys
import numpy as np
from vizsla.indexes.pq.pq_index import PqIndex
def peak():
    return next(int(line.split()[1]) / 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
vectors = np.load(sys.argv[1], mmap_mode="r")
before = peak()
PqIndex.build(vectors, bytes=48, rounds=int(sys.argv[2]))
print(peak(), before)
"""


def memory_rows(*, quick: bool) -> Iterator[Row]:
    """Yield the most memory that a process has while it codes 1M × 384 vectors of a mapped file."""
    count = 50_000 if quick else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.npy"
        written = np.lib.format.open_memmap(path, "w+", np.float32, (count, 384))
        for start in range(0, count, 50_000):
            written[start : start + 50_000] = clustered(min(50_000, count - start), 384, start)
        del written
        done = subprocess.run([sys.executable, "-c", CHILD, str(path), "1"], check=True, capture_output=True, text=True)
    peak, before = map(float, done.stdout.split())
    note = f"{before:.0f} MB before building; the codes are {count * 48 / 1e6:.0f} MB"
    yield Row(f"building from {count:,} × 384 on the disk: peak memory", peak, "limit", 1024.0, "MB", ">= 1", note=note)
