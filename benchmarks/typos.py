"""Typos: look-ups in vocabularies of 100,000 and 1,000,000 words, and the quality of misspelled queries.

``python -m benchmarks.typos words`` measures look-ups among the words of the shared sets, filled up with words of a
Markov model of them. ``python -m benchmarks.typos quality`` edits every word of 5 letters or more of every test query.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from time import process_time_ns

import numpy as np

from vizsla import _native
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates
from vizsla.core.strings import Strings
from vizsla.data.dataset import Dataset
from vizsla.demo.python_docs import python_docs
from vizsla.io.open import open_dataset
from vizsla.methods.bm25 import bm25
from vizsla.methods.typo_tolerant import typo_tolerant

SETS = ("debian-synopsis", "wordnet-senses", "squad-sent", "tldr", "cranfield")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def data_folder() -> Path:
    """Return where the shared sets are."""
    return Path(os.environ.get("VIZSLA_DATA", Path(__file__).resolve().parents[2] / ".." / "shared" / "data"))


def real_words() -> list[str]:
    """Return the distinct words of the shared sets, the most frequent first."""
    counts: Counter[str] = Counter()
    for name in SETS:
        with gzip.open(data_folder() / name / "corpus.jsonl.gz", "rt") as lines:
            for line in lines:
                row = json.loads(line)
                counts.update(_native.tokens(f"{row.get('title', '')} {row['text']}", True, 0, 0, False))
    return [word for word, _ in counts.most_common() if len(word) <= 40]


def vocabulary(size: int, *, seed: int = 0) -> list[str]:
    """Return so many distinct words: the real ones, then those of a model of three letters at a time."""
    words = real_words()[:size]
    rng, known = random.Random(seed), set(words)
    following: defaultdict[str, list[str]] = defaultdict(list)
    for word in words:
        if word.isalpha():
            padded = f"^^^{word}$"
            for at in range(3, len(padded)):
                following[padded[at - 3 : at]].append(padded[at])
    while len(words) < size:
        text = "^^^"
        while (letter := rng.choice(following[text[-3:]])) != "$":
            text += letter
        if (word := text[3:]) not in known and len(word) <= 30:
            known.add(word)
            words.append(word)
    return words


def edited(word: str, rng: random.Random) -> str:
    """Return the word after one random edit: an insertion, deletion, substitution or swap."""
    while True:
        at, letter = rng.randrange(len(word)), rng.choice(LETTERS)
        kind = rng.randrange(4)
        if kind == 0:
            changed = word[:at] + letter + word[at:]
        elif kind == 1:
            changed = word[:at] + word[at + 1 :]
        elif kind == 2:
            changed = word[:at] + letter + word[at + 1 :]
        else:
            changed = word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :]
        if changed != word:
            return changed


def measure(size: int, *, queries: int = 2000, seed: int = 1) -> list[str]:
    """Return rows of a table: look-ups at one and two edits, CPU time per look-up."""
    rng, words = random.Random(seed), vocabulary(size)
    strings = Strings.of(words)
    start = process_time_ns()
    arrays = _native.fuzzy_build(strings.data, strings.offsets)
    seconds = (process_time_ns() - start) / 1e9
    fuzzy = _native.FuzzyWords(strings.data, strings.offsets, *arrays)
    per_word = sum(array.nbytes for array in arrays) / len(words)
    rows = []
    for edits, least in ((1, 4), (2, 8)):
        chosen = rng.sample([word for word in words if len(word) >= least], queries)
        typed = chosen
        for _ in range(edits):
            typed = [edited(word, rng) for word in typed]
        times, found, missed = [], 0, 0
        for word, wanted in zip(typed, chosen, strict=True):
            begin = process_time_ns()
            near = fuzzy.near(word, edits)
            times.append((process_time_ns() - begin) / 1e3)
            found += len(near)
            missed += all(strings[number] != wanted for number, _ in near)
        low, high = np.percentile(times, [50, 99])
        rows.append(
            f"| {size:,} | {edits} | {np.mean(times):.0f} | {low:.0f} | {high:.0f} | {found / queries:.1f} | {missed} "
            f"| {per_word:.1f} | {seconds:.2f} |"
        )
    return rows


def _ndcg(found: Candidates, ids: list[str], judged: dict[str, dict[str, int]]) -> float:
    """Return the mean nDCG@10."""
    values = []
    for query, row in zip(ids, found.ids, strict=True):
        gains = judged[query]
        best = sum(gain / np.log2(rank + 2) for rank, gain in enumerate(sorted(gains.values(), reverse=True)[:10]))
        got = sum(gains.get(item, 0) / np.log2(rank + 2) for rank, item in enumerate(row[:10]))
        values.append(got / best if best else 0.0)
    return float(np.mean(values))


def _median_us(search: Retriever, queries: list[str]) -> float:
    times = []
    for query in queries:
        begin = process_time_ns()
        search(query, 10)
        times.append((process_time_ns() - begin) / 1e3)
    return float(np.median(times))


def quality(name: str, dataset: Dataset, split: str, *, seed: int = 7) -> str:
    """Return a row of a table: nDCG@10 of every query as it is, and with one edit per word of 5 letters or more."""
    ids, texts = dataset.query_texts(split)
    rng, judged = random.Random(seed), dataset.qrels_dict(split)
    typed = [re.sub("[A-Za-z]{5,}", lambda word: edited(word[0], rng), text) for text in texts]
    plain = bm25(dataset)
    tolerant = typo_tolerant(plain)
    clean, hurt, found, kept = (
        _ndcg(search(queries, 10), ids, judged)
        for search, queries in ((plain, texts), (plain, typed), (tolerant, typed), (tolerant, texts))
    )
    times = [_median_us(search, typed[:1000]) for search in (plain, tolerant)]
    return (
        f"| {name} {split} | {len(ids):,} | {clean:.4f} | {hurt:.4f} ({hurt / clean - 1:+.1%}) "
        f"| {found:.4f} ({found / clean - 1:+.1%}) | {kept:.4f} | {times[0]:.0f} | {times[1]:.0f} |"
    )


def queries() -> None:
    """Print the quality and the time of misspelled queries."""
    print("| queries | count | BM25 | BM25, typos | typo-tolerant, typos | typo-tolerant | p50 µs BM25 | tolerant |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    tldr = open_dataset(data_folder() / "tldr")
    for split in ("test-seen", "test-unseen"):
        print(quality("tldr", tldr, split), flush=True)
    print(quality("demo", python_docs(), "test"), flush=True)


def words() -> None:
    """Print the time and the bytes of look-ups."""
    print("| words | edits | mean µs | p50 | p99 | words found | missed | bytes/word | build s |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for size in (100_000, 1_000_000):
        print("\n".join(measure(size)), flush=True)


if __name__ == "__main__":
    {"words": words, "quality": queries}[sys.argv[1]]()
