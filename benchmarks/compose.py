"""Compositions against the sum of their parts: CPU time of one query and of a batch, one thread.

A part costs what it is asked for: a search at the composition's depth, and for a re-ranking the scoring of what was
found.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpus import data_folder
from benchmarks.cpu_times import batch_us, single_query_us
from benchmarks.rows import Row, arguments, report
from vizsla.base.retriever import Retriever
from vizsla.io.open import open_dataset
from vizsla.methods.bm25 import bm25
from vizsla.methods.xrlinear.build import xrlinear

K, DEPTH, BATCH = 10, 100, 512
SINGLE_LIMIT, BATCH_LIMIT = 1.3, 1.15
MANY = 300_000


def main() -> None:
    """Measure all compositions and print the rows."""
    options = arguments("compose")
    names = ["tldr"] if options.quick else ["tldr", "squad-sent"]
    rows: list[Row] = []
    for name in names:
        rows += set_rows(name, queries=40 if options.quick else 200, rounds=3 if options.quick else 15)
    rows += catalog_rows(20_000 if options.quick else MANY, rounds=3 if options.quick else 15)
    report(rows, options.json)


def set_rows(name: str, *, queries: int, rounds: int) -> list[Row]:
    """Return the rows of one data set: BM25 and XR-Linear, composed."""
    dataset = open_dataset(data_folder() / name)
    words, tree = bm25(dataset), xrlinear(dataset)
    texts = [query.text for query in dataset.queries][:: max(1, len(dataset.queries) // BATCH)][:BATCH]
    return [
        *single_rows(name, words, tree, texts[:queries], rounds),
        *batch_rows(name, words, tree, texts, 3 * rounds),
    ]


def compositions(words: Retriever, tree: Retriever) -> dict[str, Retriever]:
    """Return what is measured, by name."""
    sums = {
        f"{how} sum": 0.5 * words.normalized(how) + 0.5 * tree.normalized(how) for how in ("minmax", "zscore", "rank")
    }
    return {**sums, "a >> b": words >> tree, "(a | b) >> a": (words | tree) >> words}


def single_rows(name: str, words: Retriever, tree: Retriever, texts: list[str], rounds: int) -> list[Row]:
    """Time one query at a time."""
    found = {text: words(text, DEPTH) for text in texts}
    both = {text: (words | tree)(text, 2 * DEPTH) for text in texts}
    parts: dict[str, Callable[[str], object]] = {
        "a": lambda text: words(text, DEPTH),
        "b": lambda text: tree(text, DEPTH),
        "b scores": lambda text: tree.score(text, found[text]),
        "a scores": lambda text: words.score(text, both[text]),
    }
    made = {title: (lambda text, one=one: one(text, K)) for title, one in compositions(words, tree).items()}
    us = single_query_us({**parts, **made}, texts, rounds=rounds)
    return [_row(f"{name}, one query, {title}", us, title, SINGLE_LIMIT) for title in made]


def batch_rows(name: str, words: Retriever, tree: Retriever, texts: list[str], rounds: int) -> list[Row]:
    """Time all queries at once."""
    found, both = words(texts, DEPTH), (words | tree)(texts, 2 * DEPTH)
    parts: dict[str, Callable[[], object]] = {
        "a": lambda: words(texts, DEPTH),
        "b": lambda: tree(texts, DEPTH),
        "b scores": lambda: tree.score(texts, found),
        "a scores": lambda: words.score(texts, both),
    }
    made = {title: (lambda one=one: one(texts, K)) for title, one in compositions(words, tree).items()}
    us = batch_us({**parts, **made}, len(texts), rounds=rounds)
    return [_row(f"{name}, {len(texts)} queries, {title}", us, title, BATCH_LIMIT) for title in made]


def catalog_rows(items: int, *, rounds: int) -> list[Row]:
    """Return what it costs that a part numbers its items in another order.

    A vocabulary is numbered as its texts come, so parts that were built apart encode a query each: that has a row of
    its own. Parts that share their statistics share the encoding, and differ in their item numbers alone.
    """
    pick = np.random.default_rng(0)
    vocabulary = np.array([f"w{number}" for number in range(20_000)], dtype=object)
    texts = {f"i{number}": " ".join(vocabulary[_often_low(pick, 6)]) for number in range(items)}
    shuffled = {f"i{number}": texts[f"i{number}"] for number in pick.permutation(items).tolist()}
    first = bm25(texts)
    parts = {
        "same": bm25(texts, b=0.5),
        "in another order": bm25(shuffled, b=0.5, statistics=first.statistics),
        "in another order, vocabularies too": bm25(shuffled, b=0.5),
    }
    asked = [" ".join(vocabulary[_often_low(pick, 3)]) for _ in range(60)]
    made = {name: (lambda text, one=0.5 * first + 0.5 * part: one(text, K)) for name, part in parts.items()}
    us = single_query_us(made, asked, rounds=rounds)
    work, limit = f"sum over {items:,} items, catalogs", f">= {1 / 1.1:.2f}"
    return [
        Row(f"{work} {name}", us[name], "in the same order", us["same"], "µs CPU", limit)
        for name in parts
        if name != "same"
    ]


def _often_low(pick: np.random.Generator, count: int) -> NDArray[np.int64]:
    return (pick.random(count) ** 3 * 20_000).astype(np.int64)


def _row(work: str, us: dict[str, float], title: str, limit: float) -> Row:
    parts = {"a >> b": ("a", "b scores"), "(a | b) >> a": ("a", "b", "a scores")}.get(title, ("a", "b"))
    return Row(work, us[title], " + ".join(parts), sum(us[part] for part in parts), "µs CPU", f">= {1 / limit:.2f}")


if __name__ == "__main__":
    main()
