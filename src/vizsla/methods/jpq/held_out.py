"""HeldOutClicks: queries kept from training, and how well they are answered while it goes on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.log import ClickLog
from vizsla.clicks.log_split import LogSplit
from vizsla.clicks.measures import PerQuery
from vizsla.methods.jpq.training import JpqTraining
from vizsla.training.code_scores import Floats
from vizsla.training.lists import Relevant

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

    def measured(self, training: JpqTraining) -> PerQuery:
        """Return each query's reciprocal rank with query side and centroids as they are."""
        rows = training.asked_rows(self.rows, self.texts)
        parts = [self._ranks(training, rows, slice(at, at + BATCH)) for at in range(0, len(rows), BATCH)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _ranks(self, training: JpqTraining, rows: Floats, part: slice) -> PerQuery:
        found = training.best(rows[part], DEPTH)
        hits = (found[:, :, None] == self.relevant.items[part][:, None, :]).any(axis=2)
        return np.where(hits.any(axis=1), 1 / (1 + hits.argmax(axis=1)), 0.0)


def relevant_of(log: ClickLog) -> Relevant:
    """Return what was clicked for every query of a log, by the clicks' weights."""
    return Relevant.of(log.offsets, log.items, log.units.astype(np.float64))
