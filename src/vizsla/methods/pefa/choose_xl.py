"""Chooses the settings of PEFA-XL on held-out clicks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates
from vizsla.clicks.choice import Choice
from vizsla.clicks.log import ClickLog
from vizsla.clicks.log_split import LogSplit, log_splits
from vizsla.clicks.measures import PerQuery, reciprocal_ranks
from vizsla.methods.pefa.choose_xs import MEASURE, base_trial
from vizsla.methods.pefa.votes import VoteCounter, Votes
from vizsla.methods.pefa.xl import joined_with_votes, query_index, with_votes
from vizsla.methods.pefa.xl_settings import XlSettings
from vizsla.queries import Queries
from vizsla.retriever import Retriever

WEIGHTS = (1.0, 0.9, 0.8, 0.7, 0.5, 0.3, 0.1)
NEIGHBOURS = (8, 16, 32)
NEAR = (0.0, 0.3, 0.5)
THRESHOLDS = (0.0, 0.03, 0.06, 0.12, 0.25)
BASE_DEPTH = 100


def choose_xl(
    base: Retriever, log: ClickLog, trials: list[XlSettings], *, cold: float, seed: int
) -> tuple[Choice, XlSettings]:
    """Try everything on the same splits and return the curve and the best."""
    splits = list(log_splits(log, cold=cold, seed=seed))
    by_split = [_tried(base, log, split, trials) for split in splits]
    measured = [np.concatenate(ranks) for ranks in zip(*by_split, strict=True)]
    is_cold = np.concatenate([split.is_cold for split in splits])
    tried = [_named(trial) for trial in trials]
    choice = Choice.among(tried, measured, is_cold, measure=MEASURE, base=base_trial(tried))
    return choice, trials[choice.best]


def _named(trial: XlSettings) -> dict[str, Any]:
    return {name: value for name, value in vars(trial).items() if name != "scale"}


def _tried(base: Retriever, log: ClickLog, split: LogSplit, trials: list[XlSettings]) -> list[PerQuery]:
    """Return the reciprocal ranks of the held-out queries, for every trial."""
    near, counter = _neighbours(log, split, max(trial.neighbours for trial in trials)), VoteCounter(split.train)
    pool = _pool(base, log.take_queries(split.held), counter.count(near, _widest(trials)))
    relevant, clicked, scores = _relevant(log, split, pool), split.train.clicked, pool._required_scores()
    counted: dict[XlSettings, Votes] = {}
    found = []
    for trial in trials:
        same = replace(trial, weight=1.0, threshold=0.0)  # the votes depend on neither
        if same not in counted:
            counted[same] = counter.count(near, trial)
        totals = with_votes(pool, scores, counted[same], trial, clicked)
        found.append(reciprocal_ranks(pool.offsets, totals, relevant))
    return found


def _neighbours(log: ClickLog, split: LogSplit, most: int) -> Candidates:
    """Return the past queries nearest to the held-out ones, among those that are left."""
    index = query_index("flat", split.train)
    if index is None:
        offsets = np.zeros(len(split.held) + 1, np.int64)
        return Candidates(offsets, np.zeros(0, np.int32), np.zeros(0, np.float32))
    return index.search(log.vectors[split.held], most)


def _widest(trials: list[XlSettings]) -> XlSettings:
    """Return settings under which every item gets votes that gets some in any trial."""
    most, near = max(trial.neighbours for trial in trials), min(trial.near for trial in trials)
    return XlSettings(weight=0.5, neighbours=most, votes="max", near=near)


def _pool(base: Retriever, texts: list[str], votes: Votes) -> Candidates:
    """Return the base's best and all voted items, with the base's scores."""
    joined, stats = joined_with_votes(base, Queries(texts), BASE_DEPTH, votes, None, 1)
    width = len(base.items)
    arrays = joined.best(0.0, 0.0, np.zeros(width, np.bool_), max(1, width))
    offsets, items, scores = map(np.frombuffer, arrays, (np.int64, np.int32, np.float32))
    return Candidates.trusted(offsets, items, scores, base.items, stats)


def _relevant(log: ClickLog, split: LogSplit, pool: Candidates) -> NDArray[np.bool_]:
    """Return which items of the pool were clicked for their held-out query."""
    wanted = log.matrix[split.held]
    rows = np.repeat(np.arange(len(split.held)), np.diff(wanted.indptr))
    own = np.repeat(np.arange(len(pool)), np.diff(pool.offsets)) * log.width + pool.items
    return np.isin(own, rows * log.width + wanted.indices)
