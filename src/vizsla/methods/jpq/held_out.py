"""HeldOutClicks: queries kept from training, and how well they are answered while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates
from vizsla.clicks.log import ClickLog
from vizsla.clicks.log_split import LogSplit
from vizsla.clicks.measures import PerQuery
from vizsla.indexes.flat import FlatIndex
from vizsla.methods.jpq.training import JpqTraining
from vizsla.training.code_scores import Floats
from vizsla.training.lists import Items, Relevant

BATCH = 256
DEPTH = 10
MEASURE = "MRR@10"


class HeldOutClicks(NamedTuple):
    """Vectors of held-out queries, what was clicked for them, and whose items have no other click.

    Attributes
    ----------
    rows : float32 array
        The queries' vectors.
    relevant : Relevant
        Their clicks.
    cold : bool array
        Which queries' items have no click left in training.
    texts : list of str
        The queries.
    """

    rows: Floats
    relevant: Relevant
    cold: NDArray[np.bool_]
    texts: list[str]

    @classmethod
    def of(cls, log: ClickLog, split: LogSplit) -> HeldOutClicks:
        """Take the queries that a split holds out."""
        relevant, texts = relevant_of(log).take(split.held), log.take_queries(split.held)
        return cls(log.vectors[split.held], relevant, split.is_cold, texts)

    def measured(self, training: JpqTraining, handicaps: Sequence[float] = (0.0,)) -> list[PerQuery]:
        """Return each query's reciprocal rank with query side and centroids as they are, for every handicap."""
        rows = training.asked_rows(self.rows, self.texts)
        return [self.ranks(partial(_found, training, rows, handicap)) for handicap in handicaps]

    def uncompressed(self, vectors: Floats) -> PerQuery:
        """Return each query's reciprocal rank where items are whole vectors."""
        index = FlatIndex.build(vectors)
        return self.ranks(lambda part: _rows_of(index.search(self.rows[part], DEPTH)))

    def ranks(self, best: Callable[[slice], Items]) -> PerQuery:
        """Return each query's reciprocal rank, given what finds the best items of some of them."""
        parts = [self._ranks(best, slice(at, at + BATCH)) for at in range(0, len(self.rows), BATCH)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _ranks(self, best: Callable[[slice], Items], part: slice) -> PerQuery:
        hits = (best(part)[:, :, None] == self.relevant.items[part][:, None, :]).any(axis=2)
        return np.where(hits.any(axis=1), 1 / (1 + hits.argmax(axis=1)), 0.0)


def _found(training: JpqTraining, rows: Floats, handicap: float, part: slice) -> Items:
    return training.best(rows[part], DEPTH, handicap=handicap)


def _rows_of(found: Candidates) -> Items:
    """Return answers as a matrix, filled up with -2, which is nobody."""
    lengths = np.diff(found.offsets)
    rows = np.full((len(lengths), int(lengths.max(initial=1))), -2, np.int32)
    rows[np.arange(rows.shape[1]) < lengths[:, None]] = found.items
    return rows


def relevant_of(log: ClickLog) -> Relevant:
    """Return what was clicked for every query of a log, by the clicks' weights."""
    return Relevant.of(log.offsets, log.items, log.units.astype(np.float64))
