"""A process for tests: a scorer that writes down every pair that it was paid for, and may wait to be stopped.

python -m tests.methods.cur.search_slowly {search,anchors} FOLDER CHUNKS
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from tests.methods.cur.scorers import ANCHORS, ITEMS, QUERIES, full, truth
from vizsla.methods.bm25 import bm25
from vizsla.methods.cur import AnchorScores, residual_cur, score_anchors
from vizsla.scorers.cache import ScoreCache
from vizsla.scorers.text import FunctionScorer

CHUNK = 5
"""Pairs that are sent, and stored, at a time."""


def scorer(folder: Path, chunks: int) -> FunctionScorer:
    """Return the scorer; its books are a line a pair. It never comes to the end of the chunk after these."""
    left = iter(range(chunks))

    def scored(pairs):
        if next(left, None) is None:
            signal.pause()
        with (folder / "books").open("a") as books:
            books.writelines(f"{query}\t{text}\n" for query, text in pairs)
        return [truth(query, text) for query, text in pairs]

    return FunctionScorer(scored, ITEMS, takes="pairs", name="slow 1")


def paid(folder: Path) -> list[str]:
    """Return the pairs that were paid for so far."""
    return (folder / "books").read_text().splitlines() if (folder / "books").exists() else []


def search(folder: Path, chunks: int = sys.maxsize):
    """Search all queries under a budget of 20, behind a cache."""
    anchors = AnchorScores.of(ITEMS, ANCHORS, full(ANCHORS))
    cache = ScoreCache(scorer(folder, chunks), folder / "scores.db", chunk=CHUNK)
    return residual_cur(cache, anchors, bm25(ITEMS), budget=20, rounds=4, rank=4, ridge=0.1)(QUERIES, k=20)


def anchors(folder: Path, chunks: int = sys.maxsize) -> AnchorScores:
    """Score all anchors, in shards."""
    return score_anchors(scorer(folder, chunks), ANCHORS, folder / "anchors", shard=CHUNK, storage="float32")


WORKS = {"search": search, "anchors": anchors}

if __name__ == "__main__":
    WORKS[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
