"""Signs of web search: the time of phrases, required and excluded words and prefixes over catalogs of growing size.

``python -m benchmarks.phrases [ITEMS ...]`` makes items of 12 words by a power law over 20,000 words, and asks BM25
with texts kept for two words as they are, as a phrase, and with other signs.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from itertools import accumulate
from time import process_time

import numpy as np

from vizsla.core.catalog import Item
from vizsla.data.dataset import Dataset
from vizsla.methods.bm25 import Bm25, bm25
from vizsla.text.analyzers import Analyzer

WORDS, LENGTH, ASKED = 20_000, 12, 40
SHAPES = {
    "two words": "{0} {1}",
    "a phrase": '"{0} {1}"',
    "a required word": "+{0} {1}",
    "an excluded word": "{0} -{1}",
    "a prefix": "{0} {2}*",
}


def items(count: int) -> Iterator[Item]:
    """Yield items of random words, frequent ones as often as in texts."""
    pick, words = random.Random(0), [f"w{number:05}" for number in range(WORDS)]
    weights = list(accumulate(1 / (rank + 10) for rank in range(WORDS)))
    for number in range(count):
        yield Item(str(number), " ".join(pick.choices(words, cum_weights=weights, k=LENGTH)))


def measure(search: Bm25, texts: list[str]) -> dict[str, float]:
    """Return the median CPU milliseconds of each shape of query; lists are made before."""
    pick, found = random.Random(1), {}
    pairs = [
        text.split()[at : at + 2] for text, at in zip(texts, pick.choices(range(LENGTH - 1), k=ASKED), strict=True)
    ]
    for shape, pattern in SHAPES.items():
        times = []
        for one, other in pairs:
            query = pattern.format(one, other, other[:5])
            search(query, 10, syntax="web")
            start = process_time()
            search(query, 10, syntax="web")
            times.append((process_time() - start) * 1e3)
        found[shape] = float(np.median(times))
    return found


def main(sizes: list[int]) -> None:
    """Print a row for each shape of query."""
    columns: dict[int, dict[str, float]] = {}
    for size in sizes:
        dataset = Dataset.of(items(size), keep_texts=True)
        search = bm25(dataset, analyzer=Analyzer())
        texts = [item.text for _, item in zip(range(ASKED), items(ASKED), strict=True)]
        start = process_time()
        search('"w00001 w00002"', 10, syntax="web")
        lists = {"the words, once, in s": process_time() - start}
        columns[size] = measure(search, texts) | lists
    print("| CPU ms | " + " | ".join(f"{size:,} items" for size in sizes) + " |\n|---|" + "---:|" * len(sizes))
    for name in [*SHAPES, "the words, once, in s"]:
        print(f"| {name} | " + " | ".join(f"{columns[size][name]:.2f}" for size in sizes) + " |")


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [100_000, 1_000_000])
