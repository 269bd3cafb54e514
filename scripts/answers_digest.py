"""Print a digest of the answers of the core's methods on made-up data: the same on every machine, compiler and Python.

Run it with `python scripts/answers_digest.py` where two builds are to be compared.
"""

import hashlib
import platform
import sys
from collections.abc import Iterator

import numpy as np

import vizsla
from vizsla.base.retriever import Retriever

WORDS = ["fig", "tree", "running", "houses", "Häuser", "所有权是什么", "WH-1000XM4", "3/8", "كتاب", "general"]
WORDS += [f"w{number}" for number in range(400)]
ITEMS, QUERIES = 600, 200


def made_up(seed: int = 0) -> tuple[vizsla.Dataset, list[str]]:
    """Return items with clicks, and the queries of these."""
    rng = np.random.default_rng(seed)
    items = {f"i{number}": _text(rng, 20) for number in range(ITEMS)}
    queries = [_text(rng, 4) for _ in range(QUERIES)]
    clicks = [(query, f"i{rng.integers(ITEMS)}") for query in queries for _ in range(3)]
    return vizsla.Dataset.of(items, clicks=clicks), queries


def retrievers(dataset: vizsla.Dataset) -> Iterator[tuple[str, Retriever]]:
    """Yield what is built and trained in native code."""
    bm25, tfidf = vizsla.bm25(dataset), vizsla.tfidf(dataset)
    xrlinear = vizsla.xrlinear(dataset)
    yield from {"bm25": bm25, "tfidf": tfidf, "tokens": vizsla.tokens(dataset, epochs=0), "xrlinear": xrlinear}.items()
    yield "sum", 0.5 * bm25.normalized() + 0.5 * xrlinear.normalized()
    yield "pefa", vizsla.pefa(tfidf, dataset, variant="xs")


def digest(found: vizsla.Candidates) -> str:
    """Return a digest of ids and scores, to the last bit."""
    answers = [(hit.id, hit.score) for hits in found for hit in hits]
    return hashlib.sha256(repr(answers).encode()).hexdigest()[:16]


def main() -> None:
    """Print a line for each method."""
    print(platform.machine(), platform.python_version(), f"numpy {np.__version__}", file=sys.stderr)
    dataset, queries = made_up()
    for name, retriever in retrievers(dataset):
        print(f"{name:8} {digest(retriever(queries, k=20))}")


def _text(rng: np.random.Generator, words: int) -> str:
    return " ".join(WORDS[place] for place in (rng.random(words) ** 2 * len(WORDS)).astype(int))


if __name__ == "__main__":
    main()
