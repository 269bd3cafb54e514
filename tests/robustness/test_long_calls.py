"""Every long call hears Ctrl-C: the work is left unfinished, measured in CPU seconds, since the machine may be busy.

Each work here would take many seconds. The signal comes after a part of one, and the call must be over soon after.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from tests.support.interrupts import seconds_until_stopped
from vizsla import _native
from vizsla.core.candidates import Candidates
from vizsla.core.sparse import SparseRows
from vizsla.core.strings import Strings
from vizsla.data.dataset import Dataset
from vizsla.encoders.lsa import LsaEncoder
from vizsla.indexes.factory import make_index
from vizsla.indexes.inverted import InvertedIndex
from vizsla.indexes.tokens import TokenIndex
from vizsla.methods.bm25 import bm25
from vizsla.methods.xrlinear.build import xrlinear
from vizsla.methods.xrlinear.layer import train_layer
from vizsla.methods.xrlinear.tree import cluster_items
from vizsla.text.bag_of_words import BagOfWords
from vizsla.text.ngrams import NgramTfidf

AFTER, SOON = 0.3, 1.0
pytestmark = pytest.mark.skipif(bool(os.environ.get("LD_PRELOAD")), reason="a sanitizer changes what work costs")
Work = Callable[[], object]


def random_rows(rows: int, width: int, entries: int) -> SparseRows:
    """Return rows of so many entries each, at random places."""
    pick = np.random.default_rng(rows)
    columns = np.sort(pick.integers(0, width // entries, (rows, entries)) + np.arange(entries) * (width // entries))
    offsets = np.arange(rows + 1, dtype=np.int64) * entries
    return SparseRows(offsets, columns.astype(np.int32).reshape(-1), np.ones(rows * entries, np.float32), width)


@cache
def vectors() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((20_000, 64), dtype=np.float32)


@cache
def index(kind: str):
    options = {"hnsw": {"M": 8, "ef_construction": 30, "ef": 200}, "ivf": {"lists": 50, "probes": 25, "rounds": 2}}
    some = vectors()[:5000] if kind == "hnsw" else vectors()
    return make_index(kind, some, **options.get(kind, {}))


@cache
def postings() -> InvertedIndex:
    return InvertedIndex.build(random_rows(50_000, 2000, 20))


@cache
def tree():
    names = [f"item {n} of {n % 97} and {n % 13}" for n in range(600)]
    clicks = [(f"{n % 97} and {n % 13}", str(n)) for n in range(600)]
    return xrlinear(Dataset.of(dict(zip(map(str, range(600)), names, strict=True)), clicks=clicks), cold_start=False)


def many_queries(count: int) -> np.ndarray:
    return np.resize(vectors(), (count, 64))


def tree_rows(count: int) -> SparseRows:
    model = tree()
    rows = model.encoder.queries([f"item {n}" for n in range(1000)])
    repeats = count // 1000
    offsets = (rows.offsets[None, :-1] + np.arange(repeats)[:, None] * rows.offsets[-1]).reshape(-1)
    offsets = np.append(offsets, repeats * rows.offsets[-1])
    return SparseRows(offsets, np.tile(rows.columns, repeats), np.tile(rows.values, repeats), rows.width)


def everybody(rows: int, items: int, each: int) -> Candidates:
    numbers = np.arange(rows * each, dtype=np.int64) * 7919 % items
    return Candidates(np.arange(rows + 1, dtype=np.int64) * each, numbers.astype(np.int32), None)


def _solver(threads: int) -> Work:
    X, labels = random_rows(20_000, 3000, 30), random_rows(20_000, 40, 1)
    reached = SparseRows.of(np.ones((20_000, 1), np.float32))
    options = {"tolerance": 1e-12, "epochs": 10**6, "loss": "logistic", "threads": threads}
    return lambda: train_layer(X, labels, reached, np.array([0, 40]), **options)


def _clustering(threads: int) -> Work:
    rows = random_rows(60_000, 20_000, 60)
    return lambda: cluster_items(rows, branching=2, max_leaf=30_000, starts=500, iterations=500, threads=threads)


def _dense_search(kind: str, threads: int) -> Work:
    made, asked = index(kind), many_queries(200_000)
    return lambda: made.search(asked, 100, threads=threads)


def _dense_scores() -> Work:
    made, asked, wanted = index("flat"), many_queries(2000), everybody(2000, 20_000, 20_000)
    return lambda: made.scores(asked, wanted)


def _postings_search(threads: int) -> Work:
    made, asked = postings(), random_rows(100_000, 2000, 15)
    return lambda: made.search(asked, 10, threads=threads)


def _postings_scores() -> Work:
    made, asked, wanted = postings(), random_rows(40_000, 2000, 15), everybody(40_000, 50_000, 300)
    return lambda: made.scores(asked, wanted)


def _inverting() -> Work:
    rows = random_rows(3_000_000, 2000, 10)
    return lambda: InvertedIndex.build(rows)


def _tree_search(threads: int) -> Work:
    made, asked = tree().index.with_effort(600), tree_rows(400_000)
    return lambda: made.search(asked, 10, threads=threads)


def _tree_scores() -> Work:
    made, asked, wanted = tree().index, tree_rows(40_000), everybody(40_000, 600, 600)
    return lambda: made.scores(asked, wanted)


@cache
def codes():
    return make_index("pq", vectors()[:256], bytes=16)  # so few need no training


def _code_scores() -> Work:
    made, asked, wanted = codes(), many_queries(400_000), everybody(400_000, 256, 1)
    return lambda: made.scores(asked, wanted)


def _code_search() -> Work:
    made, asked = codes(), many_queries(400_000)
    return lambda: made.search(asked, 10)


def _bag_building() -> Work:
    rows = random_rows(600_000, 2000, 20)
    return lambda: TokenIndex.build(rows)


def _bag_search(threads: int) -> Work:
    made, asked = TokenIndex.build(random_rows(60_000, 2000, 20)), random_rows(100_000, 2000, 100)
    return lambda: made.search(asked, 10, threads=threads)


def _bag_scores() -> Work:
    made, asked = TokenIndex.build(random_rows(60_000, 2000, 20)), random_rows(100_000, 2000, 100)
    return lambda: made.scores(asked, everybody(100_000, 60_000, 30))


def _ranking() -> Work:
    count = 20_000_000
    rows = np.arange(0, count + 1, 100, dtype=np.int64), np.tile(np.arange(100, dtype=np.int32), count // 100)
    scores = np.random.default_rng(0).random(count, dtype=np.float32)
    return lambda: _native.rank(*rows, scores, 1)


def _words() -> Work:
    bag, _ = BagOfWords.fit(["a fig tree", "a pear"])
    return lambda: bag.queries(["fig and so on " * 50_000] * 600)


def _string_table() -> Work:
    count = 12_000_000
    data, offsets = np.arange(count, dtype=np.int64).view(np.uint8), np.arange(count + 1, dtype=np.int64) * 8
    return lambda: _native.build_slots(data, offsets)


def _finding_strings() -> Work:
    table = Strings.of(["a"])
    return lambda: table._table.find_all(["b" * 5000] * 5_000_000)


def _sum_of_native_parts() -> Work:
    texts = [f"item {n} of {n % 97} and {n % 13}" for n in range(2000)]
    both = 0.5 * bm25(texts) + 0.5 * bm25(texts, b=0.0)
    asked = [f"{n % 97} and {n % 13}" for n in range(60_000)]
    return lambda: both(asked, k=100)


def _lsa() -> Work:
    texts = [" ".join(f"w{n * step % 3001}" for step in range(1, 30)) for n in range(3000)]
    return lambda: LsaEncoder.fit(texts, dim=64, rounds=10_000)


def _ngrams(threads: int) -> Work:
    encoder, texts = NgramTfidf.fit(["a fig tree", "a pear"]), ["a fig tree and so on " * 2000] * 3000
    return lambda: encoder.queries(texts, threads=threads)


def _building(kind: str) -> Work:
    options = {"hnsw": {"ef_construction": 2000}, "ivf": {"rounds": 10_000, "lists": 500}}[kind]
    return lambda: make_index(kind, vectors(), **options)


WORKS: dict[str, Callable[[], Work]] = {
    "solver": lambda: _solver(1),
    "solver, 2 threads": lambda: _solver(2),
    "clustering": lambda: _clustering(1),
    "clustering, 2 threads": lambda: _clustering(2),
    "LSA": _lsa,
    "n-grams": lambda: _ngrams(1),
    "n-grams, 2 threads": lambda: _ngrams(2),
    "inverting": _inverting,
    "postings search": lambda: _postings_search(1),
    "postings search, 2 threads": lambda: _postings_search(2),
    "postings scores": _postings_scores,
    "bag building": _bag_building,
    "bag search": lambda: _bag_search(1),
    "bag search, 2 threads": lambda: _bag_search(2),
    "bag scores": _bag_scores,
    "code search": _code_search,
    "code scores": _code_scores,
    "ranking": _ranking,
    "words": _words,
    "string table": _string_table,
    "finding strings": _finding_strings,
    "sum of native parts": _sum_of_native_parts,
    "tree search": lambda: _tree_search(1),
    "tree search, 2 threads": lambda: _tree_search(2),
    "tree scores": _tree_scores,
    "flat search": lambda: _dense_search("flat", 1),
    "flat search, 2 threads": lambda: _dense_search("flat", 2),
    "hnsw search": lambda: _dense_search("hnsw", 1),
    "hnsw search, 2 threads": lambda: _dense_search("hnsw", 2),
    "ivf search": lambda: _dense_search("ivf", 1),
    "dense scores": _dense_scores,
    "hnsw building": lambda: _building("hnsw"),
    "ivf building": lambda: _building("ivf"),
}


@pytest.mark.parametrize("name", WORKS)
def test_ctrl_c_stops_it(name):
    work = WORKS[name]()
    assert seconds_until_stopped(work, AFTER) < SOON * (2 if "threads" in name else 1)


def test_reading_a_click_log_stops(tmp_path):
    lines = "".join(f"query {n}\t{n % 1000}\t1\n" for n in range(1000)) * 9000
    (tmp_path / "clicks.tsv").write_text(lines)
    items = {str(n): "text" for n in range(1000)}
    (tmp_path / "items.tsv").write_text("".join(f"{item}\t{text}\n" for item, text in items.items()))
    log = {"clicks": tmp_path / "clicks.tsv"}
    assert seconds_until_stopped(lambda: Dataset.open(tmp_path / "items.tsv", **log), 0.1) < SOON / 2  # the whole: 1
