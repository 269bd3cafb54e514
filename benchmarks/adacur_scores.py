"""Full score matrices, queries × items, of expensive scorers: made once, piece by piece, so that experiments replay.

They lie where the MiniLM vectors do (`minilm_vectors.py`); a run that was stopped goes on where it was.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.late_interaction import maxsim, minilm_tokens, save
from benchmarks.minilm_vectors import cache_folder
from vizsla.data.dataset import Dataset
from vizsla.demo.tour import alignment
from vizsla.scorers.pair_models import PairModel

PIECE = 16
Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Questions:
    """The queries of an experiment: anchors, those that settings are chosen on, those that are measured."""

    texts: list[str]
    ids: list[str]
    anchors: int
    tuning: int
    used: int | None = None
    """How many of the anchors are taken; all unless said."""

    def part(self, name: str) -> range:
        """Return which rows are "anchors", "tuning" or "testing"."""
        edges = {"anchors": (0, self.used or self.anchors), "tuning": (self.anchors, self.anchors + self.tuning)}
        return range(*edges.get(name, (self.anchors + self.tuning, len(self.texts))))


def questions(
    dataset: Dataset, tests: Sequence[str], *, anchors: int = 500, tuning: int = 150, testing: int = 150, seed: int = 0
) -> Questions:
    """Draw anchor and tuning queries of the training split, and test queries: the same ones in every run."""
    pick = np.random.default_rng(seed)
    texts, ids = [], []
    for split, count in [("train", anchors + tuning), *((test, testing // len(tests)) for test in tests)]:
        known, said = dataset.query_texts(split)
        chosen = pick.permutation(len(said))[:count].tolist()
        ids += [known[at] for at in chosen]
        texts += [said[at] for at in chosen]
    return Questions(texts, ids, anchors, tuning)


def late_interaction(name: str, texts: Sequence[str], queries: Sequence[str], *, narrow: bool = False) -> Matrix:
    """Return the scores by exact late interaction of every query and every item; `narrow` as in `minilm_tokens`."""
    items = minilm_tokens(f"{name}.items", texts, narrow=narrow)
    asked = minilm_tokens(f"{name}.queries", queries, narrow=narrow)
    return _kept(f"{name}.late", queries, lambda at: maxsim([asked.of(number) for number in at], items))


def string_similarity(name: str, texts: Sequence[str], queries: Sequence[str]) -> Matrix:
    """Return the scores by alignment of every query and every item."""
    return _kept(f"{name}.alignment", queries, lambda at: np.stack([alignment(queries[n], texts) for n in at]))


def pair_scores(name: str, model: PairModel, texts: Sequence[str], queries: Sequence[str]) -> Matrix:
    """Return a cross-encoder's scores of every query and every item."""
    kept_as = f"{name}.{model.fingerprint.rpartition(':')[2]}"
    return _kept(kept_as, queries, lambda at: _pairs(model, texts, queries, at))


def _pairs(model: PairModel, texts: Sequence[str], queries: Sequence[str], at: range) -> Matrix:
    asked = [queries[number] for number in at for _ in texts]
    return np.asarray(model.scores(asked, list(texts) * len(at)), np.float32).reshape(len(at), len(texts))


def _kept(name: str, queries: Sequence[str], score: Callable[[range], Matrix]) -> Matrix:
    parts = []
    for start in range(0, len(queries), PIECE):
        file = cache_folder() / f"{name}.{start}.npy"
        if not file.exists():
            save(file, score(range(start, min(start + PIECE, len(queries)))))
            print(f"{name}: {min(start + PIECE, len(queries))} of {len(queries)} queries", file=sys.stderr, flush=True)
        parts.append(np.load(file))
    return np.concatenate(parts)
