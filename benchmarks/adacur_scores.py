"""Full score matrices, queries × items, of expensive scorers: made once, piece by piece, so that experiments replay.

They lie where the MiniLM vectors do (`minilm_vectors.py`); a run that was stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpus import data_folder
from benchmarks.late_interaction import maxsim, minilm_tokens, save
from benchmarks.minilm_vectors import cache_folder
from vizsla.dataset import Dataset
from vizsla.demo.alignment import alignment

PIECE = 16
ANCHORS, TUNING, TESTING = 500, 150, 150
"""Anchor queries and queries for choosing settings, both of the training split; and test queries."""

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Questions:
    """The queries of an experiment: anchors, those that settings are chosen on, those that are measured."""

    texts: list[str]
    ids: list[str]

    def part(self, name: str) -> slice:
        """Return which rows are "anchors", "tuning" or "testing"."""
        edges = {"anchors": (0, ANCHORS), "tuning": (ANCHORS, ANCHORS + TUNING), "testing": (ANCHORS + TUNING, None)}
        return slice(*edges[name])


def open_set(name: str, items: int | None = None) -> Dataset:
    """Return a data set, or the part of it that has so many items; judgements of others are left out."""
    whole = Dataset.open(data_folder() / name)
    if items is None or items >= len(whole.items):
        return whole
    kept = {item.id: item.default_text() for item, _ in zip(whole.items, range(items), strict=False)}
    return Dataset.of(kept)


def questions(dataset: Dataset, tests: Sequence[str], *, seed: int = 0) -> Questions:
    """Draw the queries of an experiment: the same ones in every run."""
    pick = np.random.default_rng(seed)
    texts, ids = [], []
    for split, count in [("train", ANCHORS + TUNING), *((test, TESTING // len(tests)) for test in tests)]:
        known, said = dataset.query_texts(split)
        chosen = pick.permutation(len(said))[:count].tolist()
        ids += [known[at] for at in chosen]
        texts += [said[at] for at in chosen]
    return Questions(texts, ids)


def late_interaction(name: str, texts: Sequence[str], queries: Sequence[str]) -> Matrix:
    """Return the scores by exact late interaction of every query and every item."""
    items, asked = minilm_tokens(f"{name}.items", texts), minilm_tokens(f"{name}.queries", queries)
    return _kept(f"{name}.late", queries, lambda at: maxsim([asked.of(number) for number in at], items))


def string_similarity(name: str, texts: Sequence[str], queries: Sequence[str]) -> Matrix:
    """Return the scores by alignment of every query and every item."""
    return _kept(f"{name}.alignment", queries, lambda at: np.stack([alignment(queries[n], texts) for n in at]))


def _kept(name: str, queries: Sequence[str], score: Callable[[range], Matrix]) -> Matrix:
    parts = []
    for start in range(0, len(queries), PIECE):
        file = cache_folder() / f"{name}.{start}.npy"
        if not file.exists():
            save(file, score(range(start, min(start + PIECE, len(queries)))))
        parts.append(np.load(file))
    return np.concatenate(parts)
