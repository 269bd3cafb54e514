"""Chooses the settings of PEFA-XL on held-out clicks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.choice import Choice
from vizsla.clicks.log import ClickLog
from vizsla.clicks.trials import DEPTH, MEASURE, Split, best_trial, splits
from vizsla.methods.pefa.choose_xs import means
from vizsla.methods.pefa.votes import Ballot, Values, Whole, XlSettings, ballot, counted
from vizsla.methods.pefa.xl import _keys, _looked_up, _matches, query_index
from vizsla.queries import Queries
from vizsla.retriever import Retriever

WEIGHTS = (1.0, 0.9, 0.8, 0.7, 0.5, 0.3, 0.1)
NEIGHBOURS = (8, 16, 32)
NEAR = (0.0, 0.3, 0.5)
LEVELS = (0.0, 0.03, 0.06, 0.12, 0.25)
BASE_DEPTH = 100


def choose_xl(
    base: Retriever, log: ClickLog, trials: list[XlSettings], *, cold: float, seed: int
) -> tuple[Choice, XlSettings]:
    """Try everything on the same splits and return the curve and the best."""
    ranks: list[list[Values]] = [[] for _ in trials]
    cold_rows: list[NDArray[np.bool_]] = []
    most = max(trial.neighbours for trial in trials)
    for split in splits(log, cold=cold, seed=seed):
        cold_rows.append(np.arange(len(split.held)) < split.cold)
        for at, found in enumerate(_tried(base, log, split, trials, most)):
            ranks[at].append(found)
    is_cold = np.concatenate(cold_rows)
    done = [_said(trial) | means(np.concatenate(found), is_cold) for trial, found in zip(trials, ranks, strict=True)]
    best = best_trial(done)
    return Choice(MEASURE, int(is_cold.sum()), int((~is_cold).sum()), done, best), trials[best]


def _said(trial: XlSettings) -> dict[str, Any]:
    return {name: value for name, value in vars(trial).items() if name != "scale"}


def _tried(
    base: Retriever, log: ClickLog, split: Split, trials: list[XlSettings], most: int
) -> list[Values]:
    """Return the reciprocal ranks of the held-out queries, for every trial."""
    texts, width = log.take_queries(split.held), log.width
    index = query_index("flat", split.train)
    none = np.zeros(0, np.int64)
    votes = Ballot(none, none, none, none, np.zeros(0), np.zeros(0))
    if index is not None:
        votes = ballot(index.search(log.vectors[split.held], most), split.train)
    own, scores = _scored(base, texts, np.unique(votes.rows * width + votes.items), width)
    wanted = log.matrix[split.held]
    rows = np.repeat(np.arange(len(split.held)), np.diff(wanted.indptr))
    relevant = np.isin(own, rows * width + wanted.indices)
    clicked = np.zeros(width, np.bool_)
    clicked[split.train.items] = True
    clicked = clicked[own % width]
    tallies: dict[XlSettings, Values] = {}
    found = []
    for trial in trials:
        same = replace(trial, weight=1.0, level=0.0)  # the votes depend on neither
        if same not in tallies:
            tallies[same] = _looked_up(own, *counted(votes, width, trial))
        totals = scores + trial.worth * np.where(clicked, tallies[same] - trial.level, 0.0)
        found.append(_reciprocal_ranks(own // width, totals, relevant, len(texts)))
    return found


def _scored(base: Retriever, texts: list[str], voted: Whole, width: int) -> tuple[Whole, Values]:
    """Return the base's best and all voted items, as ascending keys, with the base's scores."""
    queries = Queries(texts)
    found = base._search(queries, BASE_DEPTH, None, 1)
    own, scores = _keys(found, width), found._required_scores().astype(np.float64)
    missing = np.setdiff1d(voted, own)
    if len(missing):
        rest = base._score(queries, _matches(missing, len(texts), base.items), None, 1)
        own, scores = np.concatenate([own, missing]), np.concatenate([scores, rest.scores])
    order = np.argsort(own, kind="stable")
    return own[order], scores[order]


def _reciprocal_ranks(rows: Whole, totals: Values, relevant: NDArray[np.bool_], count: int) -> Values:
    best = np.full(count, -np.inf)
    np.maximum.at(best, rows[relevant], totals[relevant])
    before = (totals >= best[rows]) & ~relevant
    ranks = 1 + np.bincount(rows[before], minlength=count)
    return np.where(np.isfinite(best) & (ranks <= DEPTH), 1 / ranks, 0.0)
