"""Within one call, a model scores a pair once, however many parts of a composition ask for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates
from vizsla.filter import Filter
from vizsla.queries import Queries
from vizsla.scored import Scored
from vizsla.scorer import Scorer, unwrapped
from vizsla.stats import Stats


class PairMemory:
    """Scores by pair: ascending keys, row × items + item, and a score for each. Queries of one text share a row."""

    def __init__(self) -> None:
        self.keys: NDArray[np.int64] = np.zeros(0, np.int64)
        self.scores: NDArray[np.float32] = np.zeros(0, np.float32)

    def places(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where each key stands, -1 where it is not known."""
        if not len(self.keys):
            return np.full(len(keys), -1)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, at, -1)

    def add(self, keys: NDArray[np.int64], scores: NDArray[np.float32]) -> None:
        """Remember the scores of new keys."""
        joined = np.concatenate([self.keys, keys])
        order = np.argsort(joined, kind="stable")
        self.keys, self.scores = joined[order], np.concatenate([self.scores, scores])[order]


def scored_once(
    scorer: Scorer, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int
) -> Scored:
    """Score candidates in their order; pairs that this call has scored before are looked up and cost nothing.

    Budgets and caches change no score, so a scorer's pairs are remembered whatever stands around it.
    """
    key = (unwrapped(scorer), "pairs")
    memory = queries.known(key) or queries.remember(key, PairMemory())
    rows = np.repeat(_first_rows(queries), np.diff(candidates.offsets))
    keys = rows * len(scorer.items) + candidates.items
    new = np.unique(keys[memory.places(keys) < 0])
    stats = Stats()
    if len(new):
        wanted = _candidates(new, len(candidates), scorer)
        scored = scorer._score(queries, wanted, filter, threads)
        memory.add(new, scored.scores)
        stats = scored.stats
    return Scored(memory.scores[memory.places(keys)], stats)


def _first_rows(queries: Queries) -> NDArray[np.int64]:
    """Return for each query the first one with its text: who asks twice in one call pays once."""
    seen: dict[str, int] = {}
    return np.array([seen.setdefault(text, row) for row, text in enumerate(queries.texts)], np.int64)


def _candidates(keys: NDArray[np.int64], rows: int, scorer: Scorer) -> Candidates:
    width = max(1, len(scorer.items))
    offsets = np.searchsorted(keys, np.arange(rows + 1) * width).astype(np.int64)
    return Candidates.trusted(offsets, (keys % width).astype(np.int32), None, scorer.items, Stats())
