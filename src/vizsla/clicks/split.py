"""Holds out clicks to choose parameters by: some queries cold, the others warm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.hold_out import HeldOut, hold_out
from vizsla.dataset_warning import Tally
from vizsla.errors import InputError, check_range

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.dataset import Dataset

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SplitReport:
    """What a split was asked for and what it became.

    Parameters
    ----------
    held_out_wanted, cold_wanted : float
        The shares that were asked for.
    queries : int
        Queries with clicks, before the split.
    cold_queries, warm_queries : int
        Held-out queries of either kind.
    clicks_set_aside : int
        Clicks on cold items by queries that stay in train; they are in neither part.

    Examples
    --------
    >>> SplitReport(0.1, 0.5, queries=100, cold_queries=5, warm_queries=5).cold
    0.5
    """

    held_out_wanted: float
    cold_wanted: float
    queries: int = 0
    cold_queries: int = 0
    warm_queries: int = 0
    clicks_set_aside: int = 0

    @property
    def held_out(self) -> float:
        """The share of queries that was held out."""
        return (self.cold_queries + self.warm_queries) / max(self.queries, 1)

    @property
    def cold(self) -> float:
        """The share of held-out queries that are cold."""
        return self.cold_queries / max(self.cold_queries + self.warm_queries, 1)


def split_dataset(
    dataset: Dataset, *, held_out: float = 0.1, cold: float = 0.05, seed: int = 0
) -> tuple[Dataset, Dataset]:
    """Hold out whole queries, some of which point only at items that nobody else clicked.

    Of `n` queries with clicks, `round(held_out * n)` are held out with all their clicks, and
    `round(cold * that)` of them are cold:

    - a cold query's items have no click left in train, all of them;
    - a warm query's items keep at least one click in train, all of them;
    - queries that are not held out stay in train with all their clicks but those on cold items, which are set
      aside (in neither part) and counted. They keep at least one.

    Parameters
    ----------
    dataset : Dataset
        One with clicks.
    held_out : float
        Share of the queries with clicks, above 0 and below 1.
    cold : float
        Share of the held-out queries.
    seed : int
        The same seed gives the same split.

    Returns
    -------
    train, held_out : Dataset
        Both keep all items, all queries and their numbers. `train` has the split "train"; `held_out` has the splits
        "test" (all that is held out), "cold" and "warm", and no clicks. Each has the `split_report`.

    Raises
    ------
    InputError
        When the data have no query at all of a kind that is asked for. Too few give a warning, and where warm queries
        are too few, cold ones are held out in proportion.

    Examples
    --------
    >>> from vizsla.dataset import Dataset
    >>> clicks = [("0", "0"), ("1", "0"), ("2", "0"), ("3", "1")]
    >>> ds = Dataset.of(["fig", "pear"], queries=["a", "b", "c", "d"], clicks=clicks)
    >>> train, held = ds.split(held_out=0.5, cold=0.5)
    >>> held.query_texts("cold")[0], train.clicks.sum(axis=0).tolist()
    (['3'], [2.0, 0.0])
    """
    if not 0 < held_out < 1:
        raise InputError(f"`held_out` must be above 0 and below 1. Got {held_out!r}.")
    check_range("cold", cold, 0, 1)
    clicks = dataset.clicks.sorted_indices()
    queries = int((np.diff(clicks.indptr) > 0).sum())
    if queries < 2:
        raise InputError(f"`split` needs at least 2 queries with clicks. Got {queries}: give the dataset a click log.")
    wanted = min(max(1, round(held_out * queries)), queries - 1)
    found = hold_out(clicks, queries=wanted, cold=cold, seed=seed)
    train = _entries(clicks, ~np.isin(_rows_of(clicks), [*found.cold, *found.warm]) & ~found.cold_items[clicks.indices])
    set_aside = clicks.nnz - train.nnz - int(np.diff(clicks.indptr)[[*found.cold, *found.warm]].sum())
    report = SplitReport(held_out, cold, queries, len(found.cold), len(found.warm), set_aside)
    messages = _warn(report, wanted, clicks.nnz)
    return _train(dataset, train, report, messages), _held_out(dataset, clicks, found, report, messages)


def _warn(report: SplitReport, wanted: int, clicks: int) -> tuple[str, ...]:
    tally, got = Tally(), report.cold_queries + report.warm_queries
    if got < wanted:
        tally.add(got, f"queries held out in place of {wanted}: the clicks have no more of the kinds asked for")
    cold = round(report.cold_wanted * got)
    if report.cold_queries != cold or (report.cold_wanted and not cold):
        tally.add(got, f"queries held out, {report.cold_queries} of them cold, not a share of {report.cold_wanted:g}")
    if report.clicks_set_aside > 0.05 * clicks:
        tally.add(report.clicks_set_aside, f"of {clicks} clicks set aside, because their items had to become cold")
    tally.emit()
    return tally.messages


def _train(dataset: Dataset, clicks: csr_array, report: SplitReport, messages: tuple[str, ...]) -> Dataset:
    log: dict[str, Any] = {"clicks": clicks} if dataset.has_click_log else {"qrels": {"train": clicks.astype(np.int32)}}
    if dataset.events is not None:
        log["events"] = dataset.events.among(clicks)
    return _like(dataset, report, messages, **log)


def _held_out(
    dataset: Dataset, clicks: csr_array, found: HeldOut, report: SplitReport, messages: tuple[str, ...]
) -> Dataset:
    grades = clicks.astype(np.int32)
    if dataset.has_click_log:
        grades.data[:] = 1
    rows = {"test": np.concatenate([found.cold, found.warm]), "cold": found.cold, "warm": found.warm}
    qrels = {name: _entries(grades, np.isin(_rows_of(grades), chosen)) for name, chosen in rows.items()}
    return _like(dataset, report, messages, qrels=qrels)


def _like(dataset: Dataset, report: SplitReport, messages: tuple[str, ...], **matrices: Any) -> Dataset:
    from vizsla.dataset import Dataset

    return Dataset(
        dataset.items,
        dataset.queries,
        warnings=dataset.warnings + messages,
        query_features=dataset.query_features,
        split_report=report,
        **matrices,
    )


def _rows_of(matrix: csr_array) -> Rows:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _entries(matrix: csr_array, kept: NDArray[np.bool_]) -> csr_array:
    """Return the matrix with only these stored entries."""
    from scipy.sparse import csr_array

    counts = np.bincount(_rows_of(matrix)[kept], minlength=matrix.shape[0])
    starts = np.concatenate([[0], np.cumsum(counts)])
    return csr_array((matrix.data[kept], matrix.indices[kept], starts), shape=matrix.shape)
