"""Holds out the latest clicks, as life does: what was clicked before is known, what comes after is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vizsla.click_events import ClickEvents
from vizsla.errors import InputError
from vizsla.io.moments import moment_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.dataset import Dataset


def split_by_time(
    dataset: Dataset, *, held_out: float = 0.1, after: str | float | None = None
) -> tuple[Dataset, Dataset]:
    """Part a dataset at a moment.

    Parameters
    ----------
    dataset : Dataset
        One whose click log has times.
    held_out : float
        Share of the clicks, the latest, that is held out.
    after : str or float, optional
        Hold out the clicks from this moment on instead: a date, a date with a clock, or seconds since 1970.

    Returns
    -------
    train, held_out : Dataset
        Both keep all items, all queries and their numbers. `train` has the earlier clicks, with their times; `held_out`
        has the splits "test", "cold" (queries whose later items all have no earlier click) and "warm" (the others).

    Examples
    --------
    >>> from vizsla.dataset import Dataset
    >>> log = [("a", "0", 1, "2024-05-01"), ("b", "0", 1, "2024-05-03"), ("c", "1", 1, "2024-05-04")]
    >>> train, held = split_by_time(Dataset.of(["fig", "pear"], clicks=log), after="2024-05-02")
    >>> train.clicks.nnz, held.query_texts("warm")[1], held.query_texts("cold")[1]
    (1, ['b'], ['c'])
    """
    events = timed(dataset)
    moment = _moment(events, held_out, after)
    late = events.times >= moment
    if late.all() or not late.any():
        raise InputError(
            f"`after` must part the clicks in two. Got {after!r}, with {late.sum()} of {len(late)} after it."
        )
    shape = dataset.clicks.shape
    train, held = events.only(~late), events.only(late)._replace(weights=np.ones(int(late.sum())))
    grades = held.matrix(shape)
    grades.data[:] = 1
    return _train(dataset, train), _held_out(dataset, grades.astype(np.int32), train.matrix(shape))


def timed(dataset: Dataset) -> ClickEvents:
    """Return the clicks one by one; a dataset without times raises."""
    if dataset.events is None:
        raise InputError("The click log must have a column of times. Got none: name it `time`, or see `click_columns`.")
    return dataset.events


def _moment(events: ClickEvents, held_out: float, after: str | float | None) -> float:
    if after is not None:
        moment = moment_of(str(after))
        if moment is None:
            raise InputError(f"`after` must be a time, such as 2024-05-01. Got {after!r}.")
        return moment
    if not 0 < held_out < 1:
        raise InputError(f"`held_out` must be above 0 and below 1. Got {held_out!r}.")
    ordered = np.sort(events.times)
    return float(ordered[min(len(ordered) - 1, round((1 - held_out) * len(ordered)))])


def _train(dataset: Dataset, events: ClickEvents) -> Dataset:
    return _like(dataset, clicks=events.matrix(dataset.clicks.shape), events=events)


def _held_out(dataset: Dataset, grades: csr_array, before: csr_array) -> Dataset:
    from scipy.sparse import csr_array

    known = np.bincount(before.indices, minlength=before.shape[1]) > 0
    rows = np.repeat(np.arange(grades.shape[0]), np.diff(grades.indptr))
    warm = np.bincount(rows[known[grades.indices]], minlength=grades.shape[0]) > 0

    def only(kept: Any) -> csr_array:
        at = kept[rows]
        offsets = np.concatenate([[0], np.cumsum(at)])[grades.indptr]
        return csr_array((grades.data[at], grades.indices[at], offsets), shape=grades.shape)

    return _like(dataset, qrels={"test": grades, "cold": only(~warm), "warm": only(warm)})


def _like(dataset: Dataset, **matrices: Any) -> Dataset:
    from vizsla.dataset import Dataset

    features = dataset.query_features
    return Dataset(dataset.items, dataset.queries, warnings=dataset.warnings, query_features=features, **matrices)
