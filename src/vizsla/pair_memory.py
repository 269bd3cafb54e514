"""Within one call, a model scores a pair once, however many parts of a composition ask for it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates
from vizsla.queries import Queries
from vizsla.scored import Scored
from vizsla.stats import Stats
from vizsla.strings import Strings


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
    scorer: object, items: Strings, score: Callable[[Candidates], Scored], queries: Queries, candidates: Candidates
) -> Scored:
    """Score candidates in their order; pairs that this call has scored before are looked up and cost nothing.

    Parameters
    ----------
    scorer : object
        Whose scores they are: pairs are remembered under it.
    items : Strings
        Its catalogue, which the candidates' numbers are of.
    score : callable
        Scores candidates that were not seen before.
    queries : Queries
        The call.
    candidates : Candidates
        A row a query.
    """
    memory = queries.known((scorer, "pairs")) or queries.remember((scorer, "pairs"), PairMemory())
    rows, width = np.repeat(_first_rows(queries), np.diff(candidates.offsets)), max(1, len(items))
    keys = rows * width + candidates.items
    new, stats = np.unique(keys[memory.places(keys) < 0]), Stats()
    if len(new):
        offsets = np.searchsorted(new, np.arange(len(candidates) + 1) * width).astype(np.int64)
        scored = score(Candidates.trusted(offsets, (new % width).astype(np.int32), None, items, stats))
        memory.add(new, scored.scores)
        stats = scored.stats
    return Scored(memory.scores[memory.places(keys)], stats)


def _first_rows(queries: Queries) -> NDArray[np.int64]:
    """Return for each query the first one with its text: who asks twice in one call pays once."""
    seen: dict[str, int] = {}
    return np.array([seen.setdefault(text, row) for row, text in enumerate(queries.texts)], np.int64)
