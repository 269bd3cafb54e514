"""Splits of click logs: cold and warm queries, the latest clicks, samples, folds, and held-out searches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.core.sparse import row_numbers
from vizsla.core.validation import WarningLog, check_seed, generator
from vizsla.data.dataset import ClickEvents, Dataset, SplitReport
from vizsla.errors import InputError, check_range
from vizsla.io.interactions import timestamp_of
from vizsla.learning.clicks import ClickLog
from vizsla.learning.query_mix import COLD, QUERY_KINDS, REPEATED, WARM, Mix, TextLog, predicted_mix, select_entries
from vizsla.typing import BoolArray, Int64Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class HoldoutSize(NamedTuple):
    """How many queries are held out: a share of them up to a maximum; with fewer than `min_queries`, none."""

    share: float
    max_queries: int
    min_queries: int

    def of(self, queries: int) -> int:
        """Return how many of so many queries are held out."""
        return round(min(self.share * queries, self.max_queries))


LOG_HOLDOUT = HoldoutSize(0.2, 4000, 5)
"""Of a log whose queries have vectors. Settings are chosen on `NUM_SPLITS` splits."""
TABLE_HOLDOUT = HoldoutSize(0.1, 2000, 20)
"""Of the clicks that a token table learns from."""
TEXT_HOLDOUT = HoldoutSize(0.1, 4000, 5)
"""Of different texts, to choose a fusion by: a tenth, so that what learns from the rest stays nearly as good."""
ENOUGH_TEXTS = 2000
"""Where a tenth of the texts is less than this, up to a fifth is held out."""
MAX_SAMPLE_ROWS = 10_000
"""Instances of a sample of a log's items: a second or two, and enough to see a difference that matters."""
SAMPLE_SHARE, MIN_SAMPLE_QUERIES = 0.2, 100
"""The share of a sample's queries that is held out, and how many are too few to choose by."""
NUM_SPLITS = 3
ENOUGH_QUERIES, MAX_TABLE_SPLITS = 400, 5
"""Few clicks for a token table are split several times, until so many queries were held out."""
COLD_SHARE = 0.5
"""The share of queries to come whose items have no clicks yet. A log cannot tell it, because people click on what they
are shown. Gains are linear in it, so if every share is as likely as any other, the best choice is that for one half."""


class ColdWarmSplit(NamedTuple):
    """Rows to hold out, and the items that lose their clicks."""

    cold: Int64Array
    warm: Int64Array
    cold_items: BoolArray

    @property
    def rows(self) -> Int64Array:
        """The rows to hold out, cold ones first."""
        return np.concatenate([self.cold, self.warm])

    @property
    def is_cold(self) -> BoolArray:
        """Which of the rows are cold."""
        return np.arange(len(self.cold) + len(self.warm)) < len(self.cold)

    def keeps(self, rows: NDArray[Any], items: NDArray[Any]) -> BoolArray:
        """Return which clicks are left: neither of a held-out row nor on a cold item."""
        return np.asarray(~np.isin(rows, self.rows) & ~self.cold_items[items])

    def left(self, clicks: csr_array) -> csr_array:
        """Return the clicks without those that are held out and those on cold items."""
        return select_entries(clicks, self.keeps(row_numbers(clicks.indptr), clicks.indices))


def cold_warm_split(clicks: csr_array, *, queries: int, cold: float, seed: int) -> ColdWarmSplit:
    """Choose `queries` rows, a share `cold` of them cold.

    Where warm rows are too few, fewer cold rows are chosen too, so that the share stays. None at all of a kind that is
    asked for raises.
    """
    found = _split_by_share(clicks, queries, cold, seed)
    possible = queries
    if not _enough_warm(found, queries, cold):
        possible, found = _fewer(clicks, queries, cold, seed)
    if not len(found.warm) and queries > round(cold * queries):
        raise InputError(f"`cold` must be 1 for these clicks: no query shares all its items with others. Got {cold!r}.")
    if not len(found.cold) and round(cold * possible):
        remedy = "pass cold=0, or hold out more queries"
        raise InputError(f"`cold` must be 0 for these clicks: every item has too many queries. Got {cold!r}: {remedy}.")
    return found


def _fewer(clicks: csr_array, queries: int, cold: float, seed: int) -> tuple[int, ColdWarmSplit]:
    """Find, by bisection, how many rows there can be with enough warm ones among them."""
    best = _split_by_share(clicks, 0, cold, seed)
    low, high = 0, queries
    while high - low > 1:
        middle = (low + high) // 2
        found = _split_by_share(clicks, middle, cold, seed)
        if _enough_warm(found, middle, cold):
            low, best = middle, found
        else:
            high = middle
    return low, best


def _enough_warm(found: ColdWarmSplit, queries: int, cold: float) -> bool:
    return len(found.warm) == queries - round(cold * queries)


def _split_by_share(clicks: csr_array, queries: int, share: float, seed: int) -> ColdWarmSplit:
    cold = round(share * queries)
    return cold_warm_counts(clicks, cold=cold, warm=queries - cold, seed=seed)


def cold_warm_counts(
    clicks: csr_array, *, cold: int, warm: int, seed: int, eligible: BoolArray | None = None
) -> ColdWarmSplit:
    """Choose numbers of cold and warm rows, or as many of either kind as there are.

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
    return ColdWarmSplit(cold_rows, warm_rows(clicks, warm, rng.permutation(rows), cold_items), cold_items)


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


def possible_split(clicks: csr_array, *, queries: int, cold: float, seed: int) -> ColdWarmSplit | None:
    """Choose rows as `cold_warm_split` does; where a kind is missing, only the other one; None where both are."""
    for share in (cold, 0.0, 1.0):
        try:
            return cold_warm_split(clicks, queries=queries, cold=share, seed=seed)
        except InputError:
            continue
    return None


def table_split(clicks: csr_array, seed: int) -> ColdWarmSplit | None:
    """Choose a tenth of the queries, half of them cold where that is possible; None where there are too few."""
    if clicks.shape[0] < TABLE_HOLDOUT.min_queries:
        return None
    queries = max(TABLE_HOLDOUT.of(clicks.shape[0]), 2)
    return possible_split(clicks, queries=queries, cold=COLD_SHARE, seed=seed)


def table_splits(clicks: csr_array, seed: int) -> list[ColdWarmSplit]:
    """Return splits of a log that a table learns from: one of a large log, several of a small one."""
    splits: list[ColdWarmSplit] = []
    for number in range(MAX_TABLE_SPLITS):
        held = table_split(clicks, seed + number)
        if held is None:
            break
        splits.append(held)
        if sum(len(each.rows) for each in splits) >= ENOUGH_QUERIES:
            break
    return splits


def item_folds(clicks: csr_array, folds: int, seed: int) -> Int64Array:
    """Return the fold of each query: that of the first item it has, or any."""
    drawn = np.random.default_rng(seed).integers(0, folds, clicks.shape[1])
    has = np.diff(clicks.indptr) > 0
    fold = np.arange(clicks.shape[0]) % folds
    fold[has] = drawn[clicks.indices[clicks.indptr[:-1][has]]]
    return fold


def stratified_folds(kinds: NDArray[np.str_], folds: int) -> Int64Array:
    """Return the fold of each query: of every kind, as many in each.

    Examples
    --------
    >>> stratified_folds(np.array(["cold", "warm", "warm"]), 2).tolist()
    [0, 0, 1]
    """
    fold = np.zeros(len(kinds), np.int64)
    for kind in np.unique(kinds):
        own = np.flatnonzero(kinds == kind)
        fold[own] = np.arange(len(own)) % folds
    return fold


def split_dataset(
    dataset: Dataset, *, held_out: float = 0.1, cold: float = 0.05, seed: int = 0
) -> tuple[Dataset, Dataset]:
    """Hold out whole queries, some of which point only at items without other clicks.

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
    found = cold_warm_split(clicks, queries=wanted, cold=cold, seed=seed)
    train = found.left(clicks)
    set_aside = clicks.nnz - train.nnz - int(np.diff(clicks.indptr)[found.rows].sum())
    report = SplitReport(held_out, cold, queries, len(found.cold), len(found.warm), set_aside)
    like: dict[str, Any] = {"messages": _warn(report, wanted, clicks.nnz), "split_report": report}
    log: dict[str, Any] = {"clicks": train} if dataset.has_click_log else {"qrels": {"train": train.astype(np.int32)}}
    if dataset.events is not None:
        log["events"] = dataset.events.among(train)
    grades = clicks.astype(np.int32)
    if dataset.has_click_log:
        grades.data[:] = 1
    rows = {"test": found.rows, "cold": found.cold, "warm": found.warm}
    at = row_numbers(grades.indptr)
    qrels = {name: select_entries(grades, np.isin(at, chosen)) for name, chosen in rows.items()}
    return _like(dataset, **like, **log), _like(dataset, **like, qrels=qrels)


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


def _like(dataset: Dataset, *, messages: tuple[str, ...] = (), **parts: Any) -> Dataset:
    """Return a dataset of the same items and queries."""
    known = dataset.warnings + messages
    return Dataset(dataset.items, dataset.queries, warnings=known, query_features=dataset.query_features, **parts)


def split_by_time(
    dataset: Dataset, *, held_out: float = 0.1, after: str | float | None = None
) -> tuple[Dataset, Dataset]:
    """Split a dataset by time.

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
    before, grades = train.matrix(shape), grades.astype(np.int32)
    known = np.bincount(before.indices, minlength=shape[1]) > 0
    rows = row_numbers(grades.indptr)
    warm = (np.bincount(rows[known[grades.indices]], minlength=shape[0]) > 0)[rows]
    qrels = {"test": grades, "cold": select_entries(grades, ~warm), "warm": select_entries(grades, warm)}
    return _like(dataset, clicks=before, events=train), _like(dataset, qrels=qrels)


def timed(dataset: Dataset) -> ClickEvents:
    """Return the clicks one by one; a dataset without times raises."""
    if dataset.events is None:
        raise InputError("The click log must have a column of times. Got none: name it `time`, or see `click_columns`.")
    return dataset.events


def _moment(events: ClickEvents, held_out: float, after: str | float | None) -> float:
    if after is not None:
        moment = timestamp_of(str(after))
        if moment is None:
            raise InputError(f"`after` must be a time, such as 2024-05-01. Got {after!r}.")
        return moment
    if not 0 < held_out < 1:
        raise InputError(f"`held_out` must be above 0 and below 1. Got {held_out!r}.")
    ordered = np.sort(events.times)
    return float(ordered[min(len(ordered) - 1, round((1 - held_out) * len(ordered)))])


@dataclass(frozen=True)
class LogSplit:
    """One split: the remaining log, and the held-out queries."""

    train: ClickLog
    held: Int64Array
    """Query numbers of the whole log: cold ones first."""
    cold: int
    """How many of them are cold."""

    @property
    def is_cold(self) -> BoolArray:
        """Which of the held-out queries are cold."""
        return np.arange(len(self.held)) < self.cold


def log_splits(log: ClickLog, *, cold: float, seed: int) -> Iterator[LogSplit]:
    """Yield a few splits; a log that cannot give a share of cold or warm queries gives what it can."""
    check_range("cold", cold, 0, 1)
    if too_few(log):
        raise InputError(f'{too_few_message(log)}: give every setting a value instead of "auto".')
    matrix, queries = log.matrix, max(1, LOG_HOLDOUT.of(len(log)))
    for number in range(NUM_SPLITS):
        found = possible_split(matrix, queries=queries, cold=cold, seed=seed + number)
        if found is None:
            raise InputError("The clicks are too few to hold any out: give the weight instead.")
        yield LogSplit(log.only(found.keeps(log.rows, log.items)), found.rows, len(found.cold))


def too_few(log: ClickLog) -> bool:
    """Return whether there are too few past queries to choose anything by."""
    return len(log) < LOG_HOLDOUT.min_queries


def too_few_message(log: ClickLog) -> str:
    """Say how many past queries there must be, and how many there are."""
    silent = f", and {log.silent} without a word that the encoder knows" if log.silent else ""
    fewest = LOG_HOLDOUT.min_queries
    return f"To choose by, there must be at least {fewest} different past queries. Got {len(log)}{silent}"


class ClickSample(NamedTuple):
    """Some of a log's items, with all their queries.

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

    rows: Int64Array
    items: Int64Array
    clicks: csr_array
    held: Int64Array

    @property
    def too_small(self) -> bool:
        """Whether too few queries are held out to choose anything by."""
        return len(self.held) < MIN_SAMPLE_QUERIES

    @property
    def learned(self) -> BoolArray:
        """Which of the sample's rows are not held out."""
        learned = np.ones(len(self.rows), dtype=np.bool_)
        learned[self.held] = False
        return learned

    def of(self, matrix: csr_array) -> csr_array:
        """Return the sample's part of another matrix shaped like the log."""
        part: csr_array = matrix.tocsc()[:, self.items].tocsr()[self.rows]
        return part


def draw_sample(clicks: csr_array, queries: int, *, seed: int) -> ClickSample:
    """Draw items until their instances are `MAX_SAMPLE_ROWS`, and hold out a fifth of their queries.

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
    items = np.sort(order[: max(1, np.searchsorted(np.cumsum(sizes[order]), MAX_SAMPLE_ROWS, side="right"))])
    drawn = clicks.tocsc()[:, items].tocsr()
    rows = np.flatnonzero(np.diff(drawn.indptr))
    of_queries = int(np.searchsorted(rows, queries))
    drawn = drawn[rows]
    held = warm_rows(drawn, round(SAMPLE_SHARE * of_queries), pick.permutation(of_queries))
    return ClickSample(rows, items, drawn, held)


class TooFewClicksError(InputError):
    """An error: there are too few clicks to hold any out."""


class Holdout(NamedTuple):
    """A dataset split into training clicks and held-out searches.

    Attributes
    ----------
    train : Dataset
        All items and queries, without the clicks that are held out and without those on cold items.
    texts : list of str
        The held-out texts: cold ones first, then warm, then repeated ones.
    wanted : csr_array
        Held-out texts × items: their clicks.
    kinds : array of str
        What each text is. "cold": it is new, and none of its items has a click left. "warm": it is new, and all its
        items have clicks left. "repeated": one of its searches is held out, and others of the same text are left.
    mix : Mix
        The shares of these kinds among the queries to come.
    """

    train: Dataset
    texts: list[str]
    wanted: csr_array
    kinds: NDArray[np.str_]
    mix: Mix

    @property
    def cold(self) -> BoolArray:
        """Which of the texts are cold."""
        return np.asarray(self.kinds == COLD)


def draw_holdout(dataset: Dataset, *, cold: float | str = "auto", seed: int = 0) -> Holdout:
    """Hold out searches of each kind that is expected; where the log lacks a kind, it gives what it can.

    How many of each kind are held out lies halfway between its expected share and equal numbers, so that rare kinds
    can be judged, too. `Holdout.mix` has the expected shares.

    Parameters
    ----------
    dataset : Dataset
        One with clicks of at least five different texts.
    cold : float or "auto"
        The share of cold queries among those to come; "auto" is what the log predicts. See `predicted_mix`.
    seed : int
        Draws the texts.

    Examples
    --------
    >>> from vizsla.data.dataset import Dataset
    >>> clicks = [("red", "f"), ("sweet", "f"), ("green", "p"), ("juicy", "p"), ("blue", "g")]
    >>> held = draw_holdout(Dataset.of({"f": "fig", "p": "pear", "g": "grape"}, clicks=clicks), cold=0.0)
    >>> len(held.texts), held.train.clicks.nnz, held.kinds.tolist()
    (1, 4, ['warm'])
    """
    check_seed(seed)  # before anything else is taken for a want of clicks
    mix = predicted_mix(dataset, cold)
    log = TextLog.of(dataset)
    count = int((np.diff(log.by_text.indptr) > 0).sum())
    if count < (fewest := TEXT_HOLDOUT.min_queries):
        raise TooFewClicksError(f"To choose by, there must be clicks of {fewest} different texts. Got {count}.")
    wanted = _wanted(count, mix)
    log = log.without_searches(wanted[REPEATED], seed)
    eligible = np.ones(len(log.texts), np.bool_)
    eligible[list(log.held)] = False
    found = _found(log, wanted[COLD], wanted[WARM], eligible, seed)
    train = log.train(found.keeps(log.text_rows, log.clicks.indices))
    repeated = sorted(log.held)
    if not len(found.rows) + len(repeated):
        raise TooFewClicksError("To choose by, some clicks must be held out. Got too few of them.")
    chosen = [*found.rows.tolist(), *repeated]
    counts = [len(found.cold), len(found.warm), len(repeated)]
    kinds = np.repeat(np.array([COLD, WARM, REPEATED]), counts)
    wanted_clicks = log.clicks_of(found.rows.tolist(), repeated)
    return Holdout(train, [log.texts[row] for row in chosen], wanted_clicks, kinds, mix)


def _found(log: TextLog, cold: int, warm: int, eligible: BoolArray, seed: int) -> ColdWarmSplit:
    """Hold out cold and warm texts; where one kind is too rare, more of the other."""
    found = cold_warm_counts(log.by_text, cold=cold, warm=warm, seed=seed, eligible=eligible)
    if len(found.cold) < cold:
        cold, warm = len(found.cold), warm + cold - len(found.cold)
    elif len(found.warm) < warm:
        cold, warm = cold + warm - len(found.warm), len(found.warm)
    else:
        return found
    return cold_warm_counts(log.by_text, cold=cold, warm=warm, seed=seed, eligible=eligible)


def _wanted(count: int, mix: Mix) -> dict[str, int]:
    """Return how many texts of each kind are held out."""
    share, most, _ = TEXT_HOLDOUT
    total = max(1, round(min(max(share * count, min(ENOUGH_TEXTS, 2 * share * count)), most)))
    expected = [kind for kind in QUERY_KINDS if mix.shares[kind] > 0]
    wanted = {kind: round(total * (mix.shares[kind] + 1 / len(expected)) / 2) for kind in expected}
    return dict.fromkeys(QUERY_KINDS, 0) | wanted
