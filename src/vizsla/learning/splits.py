"""Hold out clicks to choose settings by: cold and warm queries, the latest clicks, and samples of a log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.core.sparse import row_numbers
from vizsla.core.validation import WarningLog, generator
from vizsla.data.dataset import ClickEvents
from vizsla.errors import InputError, check_range
from vizsla.io.interactions import moment_of
from vizsla.learning.clicks import ClickLog
from vizsla.typing import BoolArray, Int64Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.data.dataset import Dataset


class HeldOut(NamedTuple):
    """Rows to hold out, and the items that lose their clicks."""

    cold: Int64Array
    warm: Int64Array
    cold_items: BoolArray


def hold_out(clicks: csr_array, *, queries: int, cold: float, seed: int) -> HeldOut:
    """Choose `queries` rows, a share `cold` of them cold.

    Where warm rows are too few, fewer cold rows are chosen too, so that the share stays. None at all of a kind that is
    asked for raises.
    """
    found = _hold_out(clicks, queries, cold, seed)
    possible = queries
    if not _enough_warm(found, queries, cold):
        possible, found = _fewer(clicks, queries, cold, seed)
    if not len(found.warm) and queries > round(cold * queries):
        raise InputError(f"`cold` must be 1 for these clicks: no query shares all its items with others. Got {cold!r}.")
    if not len(found.cold) and round(cold * possible):
        remedy = "pass cold=0, or hold out more queries"
        raise InputError(f"`cold` must be 0 for these clicks: every item has too many queries. Got {cold!r}: {remedy}.")
    return found


def _fewer(clicks: csr_array, queries: int, cold: float, seed: int) -> tuple[int, HeldOut]:
    """Find, by bisection, how many rows there can be with enough warm ones among them."""
    best = _hold_out(clicks, 0, cold, seed)
    low, high = 0, queries
    while high - low > 1:
        middle = (low + high) // 2
        found = _hold_out(clicks, middle, cold, seed)
        if _enough_warm(found, middle, cold):
            low, best = middle, found
        else:
            high = middle
    return low, best


def _enough_warm(found: HeldOut, queries: int, cold: float) -> bool:
    return len(found.warm) == queries - round(cold * queries)


def _hold_out(clicks: csr_array, queries: int, share: float, seed: int) -> HeldOut:
    cold = round(share * queries)
    return hold_out_counts(clicks, cold=cold, warm=queries - cold, seed=seed)


def hold_out_counts(
    clicks: csr_array, *, cold: int, warm: int, seed: int, eligible: BoolArray | None = None
) -> HeldOut:
    """Choose so many cold and so many warm rows, or as many of either kind as there are.

    Parameters
    ----------
    clicks : csr_array
        Queries × items.
    cold, warm : int
        How many rows of either kind are wanted.
    seed : int
        Draws the rows.
    eligible : bool array, optional
        Which rows may be chosen; all with clicks unless given. The others may lose clicks on cold items, but not all.
    """
    rng = generator(seed)
    asked = np.diff(clicks.indptr) > 0
    rows = rng.permutation(np.flatnonzero(asked if eligible is None else asked & eligible))
    order = rows[np.argsort(_damage(clicks)[rows], kind="stable")]
    cold_rows, cold_items = _cold_rows(clicks, cold, order, np.isin(np.arange(len(asked)), rows))
    return HeldOut(cold_rows, warm_rows(clicks, warm, rng.permutation(rows), cold_items), cold_items)


def _damage(clicks: csr_array) -> Int64Array:
    """Bound the clicks of other queries that are set aside if a query becomes cold."""
    sizes = np.diff(clicks.indptr)
    several = np.repeat(sizes > 1, sizes)
    shared = np.bincount(clicks.indices[several], minlength=clicks.shape[1])
    totals = np.concatenate([[0], np.cumsum(shared[clicks.indices])])
    damage: Int64Array = totals[clicks.indptr[1:]] - totals[clicks.indptr[:-1]] - np.where(sizes > 1, sizes, 0)
    return damage


def _cold_rows(clicks: csr_array, wanted: int, order: Int64Array, eligible: BoolArray) -> tuple[Int64Array, BoolArray]:
    """Take rows in order; with each come all rows whose last item thereby turns cold, if there is room for them."""
    by_item, sizes = clicks.tocsc(), np.diff(clicks.indptr)
    inside = np.zeros(len(sizes), dtype=np.int64)
    cold_items, too_popular = np.zeros(clicks.shape[1], dtype=np.bool_), np.zeros(clicks.shape[1], dtype=np.bool_)
    taken: list[int] = []
    for row in order.tolist():
        if len(taken) >= wanted:
            break
        items = clicks.indices[clicks.indptr[row] : clicks.indptr[row + 1]]
        new = items[~cold_items[items]]
        if not len(new) or too_popular[new].any():
            continue
        clicked = [by_item.indices[by_item.indptr[item] : by_item.indptr[item + 1]] for item in new]
        touched, counts = np.unique(np.concatenate(clicked), return_counts=True)
        complete = touched[inside[touched] + counts == sizes[touched]]
        if len(taken) + len(complete) > wanted:
            # Rows only ever join, so an item that is too much alone stays too much: every item is tried once.
            too_popular[new] |= len(new) == 1
            continue
        if not eligible[complete].all():
            continue
        inside[touched] += counts
        cold_items[new] = True
        taken += complete.tolist()
    return np.sort(np.array(taken, dtype=np.int64)), cold_items


def warm_rows(clicks: csr_array, wanted: int, order: Int64Array, cold_items: BoolArray | None = None) -> Int64Array:
    """Take rows in order as long as each of their items keeps a click of a row that is not taken."""
    left = np.bincount(clicks.indices, minlength=clicks.shape[1])
    if cold_items is not None:
        left[cold_items] = 0
    taken: list[int] = []
    for row in order.tolist():
        if len(taken) >= wanted:
            break
        items = clicks.indices[clicks.indptr[row] : clicks.indptr[row + 1]]
        if (left[items] > 1).all():
            left[items] -= 1
            taken.append(row)
    return np.sort(np.array(taken, dtype=np.int64))


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
    >>> from vizsla.data.dataset import Dataset
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
    train = _entries(
        clicks, ~np.isin(row_numbers(clicks.indptr), [*found.cold, *found.warm]) & ~found.cold_items[clicks.indices]
    )
    set_aside = clicks.nnz - train.nnz - int(np.diff(clicks.indptr)[[*found.cold, *found.warm]].sum())
    report = SplitReport(held_out, cold, queries, len(found.cold), len(found.warm), set_aside)
    messages = _warn(report, wanted, clicks.nnz)
    return _train_with_report(dataset, train, report, messages), _held_out_at_random(
        dataset, clicks, found, report, messages
    )


def _warn(report: SplitReport, wanted: int, clicks: int) -> tuple[str, ...]:
    tally, got = WarningLog(), report.cold_queries + report.warm_queries
    if got < wanted:
        tally.add(got, f"queries held out in place of {wanted}: the clicks have no more of the kinds asked for")
    cold = round(report.cold_wanted * got)
    if report.cold_queries != cold or (report.cold_wanted and not cold):
        tally.add(got, f"queries held out, {report.cold_queries} of them cold, not a share of {report.cold_wanted:g}")
    if report.clicks_set_aside > 0.05 * clicks:
        tally.add(report.clicks_set_aside, f"of {clicks} clicks set aside, because their items had to become cold")
    tally.emit()
    return tally.messages


def _train_with_report(dataset: Dataset, clicks: csr_array, report: SplitReport, messages: tuple[str, ...]) -> Dataset:
    log: dict[str, Any] = {"clicks": clicks} if dataset.has_click_log else {"qrels": {"train": clicks.astype(np.int32)}}
    if dataset.events is not None:
        log["events"] = dataset.events.among(clicks)
    return _like_with_report(dataset, report, messages, **log)


def _held_out_at_random(
    dataset: Dataset, clicks: csr_array, found: HeldOut, report: SplitReport, messages: tuple[str, ...]
) -> Dataset:
    grades = clicks.astype(np.int32)
    if dataset.has_click_log:
        grades.data[:] = 1
    rows = {"test": np.concatenate([found.cold, found.warm]), "cold": found.cold, "warm": found.warm}
    qrels = {name: _entries(grades, np.isin(row_numbers(grades.indptr), chosen)) for name, chosen in rows.items()}
    return _like_with_report(dataset, report, messages, qrels=qrels)


def _like_with_report(dataset: Dataset, report: SplitReport, messages: tuple[str, ...], **matrices: Any) -> Dataset:
    from vizsla.data.dataset import Dataset

    return Dataset(
        dataset.items,
        dataset.queries,
        warnings=dataset.warnings + messages,
        query_features=dataset.query_features,
        split_report=report,
        **matrices,
    )


def _entries(matrix: csr_array, kept: NDArray[np.bool_]) -> csr_array:
    """Return the matrix with only these stored entries."""
    from scipy.sparse import csr_array

    counts = np.bincount(row_numbers(matrix.indptr)[kept], minlength=matrix.shape[0])
    starts = np.concatenate([[0], np.cumsum(counts)])
    return csr_array((matrix.data[kept], matrix.indices[kept], starts), shape=matrix.shape)


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
    >>> from vizsla.data.dataset import Dataset
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
    return _train_before(dataset, train), _held_out(dataset, grades.astype(np.int32), train.matrix(shape))


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


def _train_before(dataset: Dataset, events: ClickEvents) -> Dataset:
    return _like(dataset, clicks=events.matrix(dataset.clicks.shape), events=events)


def _held_out(dataset: Dataset, grades: csr_array, before: csr_array) -> Dataset:
    from scipy.sparse import csr_array

    known = np.bincount(before.indices, minlength=before.shape[1]) > 0
    rows = row_numbers(grades.indptr)
    warm = np.bincount(rows[known[grades.indices]], minlength=grades.shape[0]) > 0

    def only(kept: Any) -> csr_array:
        at = kept[rows]
        offsets = np.concatenate([[0], np.cumsum(at)])[grades.indptr]
        return csr_array((grades.data[at], grades.indices[at], offsets), shape=grades.shape)

    return _like(dataset, qrels={"test": grades, "cold": only(~warm), "warm": only(warm)})


def _like(dataset: Dataset, **matrices: Any) -> Dataset:
    from vizsla.data.dataset import Dataset

    features = dataset.query_features
    return Dataset(dataset.items, dataset.queries, warnings=dataset.warnings, query_features=features, **matrices)


COLD = 0.5
"""The share of queries to come whose items nobody clicked yet. A log cannot tell it, because people click on what they
are shown. Gains are linear in it, so if every share is as likely as any other, the best choice is that for one half."""
HELD_OUT = 0.2
MOST_QUERIES = 4000
SPLITS = 3
MIN_PAST_QUERIES = 5


@dataclass(frozen=True)
class LogSplit:
    """One split: the log that is left, and the queries that are held out."""

    train: ClickLog
    held: NDArray[np.int64]
    """Query numbers of the whole log: cold ones first."""
    cold: int
    """How many of them are cold."""

    @property
    def is_cold(self) -> NDArray[np.bool_]:
        """Which of the held-out queries are cold."""
        return np.arange(len(self.held)) < self.cold


def log_splits(log: ClickLog, *, cold: float, seed: int) -> Iterator[LogSplit]:
    """Yield a few splits; a log that cannot give a share of cold or warm queries gives what it can."""
    check_range("cold", cold, 0, 1)
    if too_few(log):
        raise InputError(f'{fewest_said(log)}: give every setting a value instead of "auto".')
    queries = max(1, round(min(HELD_OUT * len(log), MOST_QUERIES)))
    for number in range(SPLITS):
        found = _held_of_log(log, queries, cold, seed + number)
        held = np.concatenate([found.cold, found.warm])
        kept = ~np.isin(log.rows, held) & ~found.cold_items[log.items]
        yield LogSplit(log.only(kept), held, len(found.cold))


def too_few(log: ClickLog) -> bool:
    """Return whether there are too few past queries to choose anything by."""
    return len(log) < MIN_PAST_QUERIES


def fewest_said(log: ClickLog) -> str:
    """Say how many past queries there must be, and how many there are."""
    silent = f", and {log.silent} without a word that the encoder knows" if log.silent else ""
    return f"To choose by, there must be at least {MIN_PAST_QUERIES} different past queries. Got {len(log)}{silent}"


def _held_of_log(log: ClickLog, queries: int, cold: float, seed: int) -> HeldOut:
    matrix = log.matrix
    for share in (cold, 0.0, 1.0):
        try:
            return hold_out(matrix, queries=queries, cold=share, seed=seed)
        except InputError:
            continue
    raise InputError("The clicks are too few to hold any out: give the weight instead.")


ROWS = 10_000
"""Instances to try on: a second or two, and enough to see a difference that matters."""

HELD = 0.2
FEWEST = 100
"""The share of the queries that is held out, and how many are too few to learn anything from."""


class ClickSample(NamedTuple):
    """Some of a log's items, with all that chose them.

    Attributes
    ----------
    rows : int array
        The log's rows that chose any of the items.
    items : int array
        The items, ascending.
    clicks : csr_array
        Rows × items, with the log's values.
    held : int array
        Which of the sample's rows are held out; every item keeps another one.
    """

    rows: NDArray[np.int64]
    items: NDArray[np.int64]
    clicks: csr_array
    held: NDArray[np.int64]

    @property
    def too_small(self) -> bool:
        """Whether too few queries are held out to choose anything by."""
        return len(self.held) < FEWEST

    @property
    def learned(self) -> NDArray[np.bool_]:
        """Which of the sample's rows are not held out."""
        learned = np.ones(len(self.rows), dtype=np.bool_)
        learned[self.held] = False
        return learned

    def of(self, matrix: csr_array) -> csr_array:
        """Return the sample's part of another matrix shaped like the log."""
        part: csr_array = matrix.tocsc()[:, self.items].tocsr()[self.rows]
        return part


def draw_sample(clicks: csr_array, queries: int, *, seed: int) -> ClickSample:
    """Draw items until their instances are `ROWS`, and hold out a fifth of their queries.

    Parameters
    ----------
    clicks : csr_array
        Instances × items.
    queries : int
        How many instances, the first ones, are queries: only these can be held out.
    seed : int
        Draws the items and the queries.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> sample = draw_sample(csr_array([[1.0], [1.0], [2.0], [1.0], [1.0]]), 5, seed=0)
    >>> sample.items.tolist(), len(sample.held), sample.too_small
    ([0], 1, True)
    """
    pick = generator(seed)
    sizes = np.bincount(clicks.indices, minlength=clicks.shape[1])
    order = pick.permutation(np.flatnonzero(sizes))
    items = np.sort(order[: max(1, np.searchsorted(np.cumsum(sizes[order]), ROWS, side="right"))])
    drawn = clicks.tocsc()[:, items].tocsr()
    rows = np.flatnonzero(np.diff(drawn.indptr))
    of_queries = int(np.searchsorted(rows, queries))
    drawn = drawn[rows]
    held = warm_rows(drawn, round(HELD * of_queries), pick.permutation(of_queries))
    return ClickSample(rows, items, drawn, held)
