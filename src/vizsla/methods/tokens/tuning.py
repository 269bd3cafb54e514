"""Choose the settings of token learning on held-out clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vizsla._internal.terminal import progress
from vizsla.learning.clicks import ClickLog
from vizsla.learning.selection import (
    MIN_QUERIES_FOR_B,
    QUALITIES,
    Choice,
    Judge,
    choose,
    harmless_to_cold,
    highest,
)
from vizsla.learning.splits import COLD_SHARE, ColdWarmSplit, table_splits
from vizsla.methods.tokens.learner import LearningSettings, new_learner
from vizsla.methods.tokens.model import TokenRetriever
from vizsla.typing import Float64Array

if TYPE_CHECKING:
    pass

TRIED_B = (0.0, 0.25, 0.5, 0.75, 1.0)
MAX_QUERIES_FOR_B = 2000
MEASURED_DEPTH = 100


def chosen_b(base: TokenRetriever, items: Any, *, seed: int) -> float:
    """Return the b with the highest MRR@10 over a sample of queries with clicks; without clicks its own.

    Nothing is learned from these clicks but one number, so none need be held out.
    """
    from vizsla.data.dataset import Dataset

    if not isinstance(items, Dataset) or items.clicks.nnz == 0:
        return base.b
    clicked = ClickLog.of(items, base.items)
    if len(clicked) < MIN_QUERIES_FOR_B:
        return base.b
    drawn = np.random.default_rng(seed).permutation(len(clicked))[:MAX_QUERIES_FOR_B]
    sample = clicked.take(np.sort(drawn))
    values = [_ranks(base.with_b(b), sample) for b in TRIED_B]
    rule = highest([-abs(b - base.b) for b in TRIED_B])
    return float(choose([{"b": b} for b in TRIED_B], values, measure=MEASURE, rule=rule).chosen["b"])


def _ranks(base: TokenRetriever, sample: ClickLog) -> Float64Array:
    return sample.reciprocal_ranks(base.search_encoded(base.encode(sample.texts), MEASURED_DEPTH))


MEASURE = "MRR@10"
MAX_EPOCHS = 8
"""More teach warm queries still, but cold ones gain nothing, and each takes its time."""
PATIENCE_EPOCHS = 2
DEFAULT_EPOCHS = 3
"""Epochs, where nothing can be held out to choose them by."""


class EpochTrial:
    """One split of the clicks: a table that learns from one part, and queries of the other to measure it by.

    Parameters
    ----------
    base : TokenRetriever
        The lists, and the table to begin with.
    clicked : ClickLog
        All clicks.
    held : ColdWarmSplit
        Which of the queries are held out.
    settings : LearningSettings
        How to learn.
    seed : int
        Seed of all random numbers.
    """

    def __init__(
        self, base: TokenRetriever, clicked: ClickLog, held: ColdWarmSplit, settings: LearningSettings, seed: int
    ):
        self.base, self.asked, self.cold = base, clicked.take(held.rows), held.is_cold
        self._learner = new_learner(base, clicked, held.left(clicked.clicks), settings)
        self._rng = np.random.default_rng(seed)

    def ranks(self) -> Float64Array:
        """Return the reciprocal rank of each held-out query's first clicked item."""
        base = self.base.with_table(self._learner.table)
        return self.asked.reciprocal_ranks(base.search_encoded(base.encode(self.asked.texts), 10))

    def epoch(self) -> Float64Array:
        """Learn for another epoch, and measure again."""
        self._learner.epoch(self._rng)
        return self.ranks()


def chosen_epochs(base: TokenRetriever, clicked: ClickLog, settings: LearningSettings, *, seed: int) -> Choice:
    """Learn from some of the clicks and measure the others after every epoch: warm and cold queries apart.

    The trial of 0 epochs is the table as it was. It is chosen where learning harms cold queries beyond noise, or helps
    no query. Where nothing can be held out, the only trial has no query.
    """
    trials = [EpochTrial(base, clicked, held, settings, seed) for held in table_splits(clicked.clicks, seed)]
    if not trials:
        return Choice(MEASURE, 0, 0, [{"epochs": DEFAULT_EPOCHS} | dict.fromkeys(QUALITIES, 0.0)], 0)
    judge = Judge.of_cold(np.concatenate([trial.cold for trial in trials]), COLD_SHARE)
    measured = [np.concatenate([trial.ranks() for trial in trials])]
    for epoch in progress(range(1, MAX_EPOCHS + 1), what="choosing the epochs"):
        measured.append(np.concatenate([trial.epoch() for trial in trials]))
        if epoch - int(np.argmax([judge.quality(values) for values in measured])) >= PATIENCE_EPOCHS:
            break
    epochs = [{"epochs": epoch} for epoch in range(len(measured))]
    return choose(epochs, measured, judge, measure=MEASURE, rule=harmless_to_cold(judge))
