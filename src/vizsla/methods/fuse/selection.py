"""Selects a trial of a fusion, and tests it on queries that the selection has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.judge import Judge
from vizsla.clicks.measures import PerQuery
from vizsla.methods.fuse.lifting import Lifting
from vizsla.methods.fuse.standing import Standing, is_sound
from vizsla.methods.fuse.trial import Trial

ROUNDS = 5
"""In so many rounds a trial is selected without a share of the held-out queries, and judged by those."""


class Selection(NamedTuple):
    """What was selected.

    Attributes
    ----------
    best : int
        The trial that stands in the end.
    level : int
        What would stand without a lift.
    part : int
        The single part with the best quality.
    standing : Standing
        By which kinds of query it was ranked.
    honest : array
        The quality of each held-out query under the trial that was selected without it.
    """

    best: int
    level: int
    part: int
    standing: Standing
    honest: PerQuery


def select(judge: Judge, trials: Sequence[Trial], measured: Sequence[PerQuery]) -> Selection:
    """Return the best sum if it is soundly better than the best part, and else the part.

    First a sum is looked for that loses to no part on any kind of query, however rare; where none is sound, one that
    loses to none on the kinds that make up a tenth of the queries to come. A sum that is the best of very many on some
    queries looks better on these than it is, so it is tested by selecting it without them; see `is_sound`.

    Parameters
    ----------
    judge : Judge
        How the kinds of queries are weighed.
    trials : sequence of Trial
        What was tried, single parts among them.
    measured : sequence of arrays
        For each trial, the quality of every held-out query.
    """
    values = np.asarray(measured, np.float64)
    singles = [at for at, trial in enumerate(trials) if len(trial.used) == 1]
    part = max(singles, key=lambda at: judge.quality(values[at]))
    for kinds in dict.fromkeys([protected(judge), judge.common]):
        best, level, standing = _candidate(judge, trials, values, kinds)
        if len(trials[best].used) == 1 or not is_sound(judge, values[best], values[part]):
            continue
        honest = cross_fitted(judge, trials, values, kinds)
        if is_sound(judge, honest, values[part]):
            return Selection(best, level, part, standing, honest)
    singled = Standing.of(judge, list(values[singles]), kinds=protected(judge))
    return Selection(part, part, part, singled, values[part])


def protected(judge: Judge) -> tuple[str, ...]:
    """Return the kinds of query on which a sum should lose to no part: warm and cold ones, however rare.

    Examples
    --------
    >>> protected(Judge(np.array(["warm"]), {"repeated": 0.2, "warm": 0.8}))
    ('repeated', 'warm', 'cold')
    """
    return tuple(kind for kind in ("repeated", "warm", "cold") if kind != "repeated" or kind in judge.common)


def cross_fitted(
    judge: Judge, trials: Sequence[Trial], measured: NDArray[np.float64], kinds: Sequence[str]
) -> PerQuery:
    """Return for each query the quality of the trial that is selected by the queries of the other rounds."""
    rounds = _rounds(judge)
    honest = np.zeros(measured.shape[1])
    for number in range(ROUNDS):
        out = rounds == number
        if out.any() and not out.all():
            best, _, _ = _candidate(judge.only(~out), trials, measured[:, ~out], kinds)
            honest[out] = measured[best, out]
    return honest


def _candidate(
    judge: Judge, trials: Sequence[Trial], measured: NDArray[np.float64], kinds: Sequence[str]
) -> tuple[int, int, Standing]:
    """Return which trial stands, lifted or not, and which would without a lift."""
    singles = [values for values, trial in zip(measured, trials, strict=True) if len(trial.used) == 1]
    standing = Standing.of(judge, singles, kinds=kinds)
    rows = list(measured)
    level = standing.chosen(trials, rows)
    return Lifting.of(judge, singles, rows[level]).chosen(trials, rows, level), level, standing


def _rounds(judge: Judge) -> NDArray[np.int64]:
    """Return in which round each query is left out: of every kind, as many in each."""
    rounds = np.zeros(len(judge.kinds), np.int64)
    for kind in np.unique(judge.kinds):
        own = np.flatnonzero(judge.kinds == kind)
        rounds[own] = np.arange(len(own)) % ROUNDS
    return rounds
