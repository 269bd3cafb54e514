"""Scorers that keep the books: which pairs they were asked for, and in how many calls."""

from __future__ import annotations

import numpy as np

from vizsla.scorers.text import FunctionScorer

PICK = np.random.default_rng(3)
ITEMS = {f"item {n}": f"{' '.join(PICK.choice(list('abcdefghij'), PICK.integers(1, 9)))} {n}" for n in range(60)}
QUERIES = ["a b c", "d e", "f", "g h i j", "a j"]
ANCHORS = ["a b", "c d", "e f", "g h", "i j", "a c e", "b d f", "h j"]


class Books:
    """Scores by shared letters and their places, and remembers every pair."""

    def __init__(self, fails_after: int | None = None):
        self.pairs: list[tuple[str, str]] = []
        self.calls, self.fails_after = 0, fails_after

    def __call__(self, pairs):
        self.calls += 1
        for pair in pairs:
            if self.fails_after is not None and len(self.pairs) >= self.fails_after:
                raise RuntimeError("out of order")
            self.pairs.append(pair)
        return [truth(query, text) for query, text in pairs]


def truth(query: str, text: str) -> float:
    letters = text.split()
    return sum(1.0 / (1 + letters.index(letter)) for letter in query.split() if letter in letters) - 0.01 * len(letters)


def full(queries) -> np.ndarray:
    return np.array([[truth(query, text) for text in ITEMS.values()] for query in queries], np.float32)


def scorer(books: Books | None = None) -> FunctionScorer:
    return FunctionScorer(Books() if books is None else books, ITEMS, takes="pairs", name="books 1")
