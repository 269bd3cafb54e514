"""Mix: the expected shares of repeated, warm and cold queries; and TextLog: a click log by query text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vizsla.core.sparse import row_numbers
from vizsla.core.validation import generator
from vizsla.errors import InputError, check_range
from vizsla.typing import BoolArray, Int64Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.data.dataset import ClickEvents, Dataset

REPEATED, WARM, COLD = "repeated", "warm", "cold"
QUERY_KINDS = (REPEATED, WARM, COLD)
LATE_SHARE = 0.1
"""The share of the clicks, the latest, that shows what comes after the others."""
MIN_LATE_SEARCHES = 30
"""Fewer late searches than this say too little; the whole log is used instead."""
COMMON_SHARE = 0.1
"""From this share on, a kind of query may not pay for the gain of another."""


class Mix(NamedTuple):
    """Expected shares of the kinds of queries; they add up to 1.

    Attributes
    ----------
    repeated : float
        Queries whose text has been asked before.
    warm : float
        New texts about an item with clicks.
    cold : float
        New texts about items without clicks.
    source : str
        The source of the shares: "times", "log", or "given" for a share that was passed.
    """

    repeated: float
    warm: float
    cold: float
    source: str = "given"

    @property
    def shares(self) -> dict[str, float]:
        """The shares by kind."""
        return {REPEATED: self.repeated, WARM: self.warm, COLD: self.cold}

    def with_cold(self, cold: float) -> Mix:
        """Return the mix with this share of cold queries; the other two keep their proportion.

        Examples
        --------
        >>> Mix(0.1, 0.3, 0.6, "log").with_cold(0.2).shares
        {'repeated': 0.2, 'warm': 0.6, 'cold': 0.2}
        """
        known = self.repeated + self.warm
        repeated = (1 - cold) * self.repeated / known if known else 0.0
        return Mix(round(repeated, 9), round(1 - cold - repeated, 9), cold)

    def __str__(self) -> str:
        return ", ".join(f"{100 * share:.0f} % {kind}" for kind, share in self.shares.items())


def predicted_mix(dataset: Dataset, cold: float | str = "auto") -> Mix:
    """Return the mix of queries that a click log predicts.

    Where clicks have times, the latest tenth of them shows how many searches repeat an earlier text, ask for an item
    that was clicked earlier, or for one that was not. Otherwise each search is left out in turn and looked at in the
    same way, given all others. The share of cold queries is then that of clicks on items without another: the
    Good-Turing estimate, which is unbiased if queries to come are drawn as those of the log were. It knows nothing of
    items that are yet to arrive; where many do, give `cold`, or clicks with times.

    Parameters
    ----------
    dataset : Dataset
        One with clicks.
    cold : float or "auto"
        The share of cold queries, where it is known better than the log can tell.

    Examples
    --------
    >>> from vizsla.data.dataset import Dataset
    >>> log = [("red", "f"), ("sweet", "f"), ("green", "p"), ("green", "p")]
    >>> str(predicted_mix(Dataset.of({"f": "fig", "p": "pear"}, clicks=log)))
    '33 % repeated, 50 % warm, 17 % cold'
    """
    if isinstance(cold, str) and cold != "auto":
        raise InputError(f'`cold` must be a share from 0 to 1, or "auto". Got {cold!r}.')
    number = text_numbers(dataset)[1]
    mix = _by_time(dataset, number) or _left_out(dataset, number)
    return mix if isinstance(cold, str) else mix.with_cold(check_range("cold", cold, 0, 1))


def text_numbers(dataset: Dataset) -> tuple[list[str], Int64Array]:
    """Return the different texts of the queries, and for each query the number of its own."""
    _, every = dataset.query_texts()
    first: dict[str, int] = {}
    number = np.fromiter((first.setdefault(text, len(first)) for text in every), np.int64, len(every))
    return list(first), number


def searches_of_rows(dataset: Dataset) -> Int64Array:
    """Return how many searches each query of a log without times stands for: the most clicks on one of its items.

    Weights that are not whole numbers, and grades, do not count anything: each query is one search.
    """
    clicks = dataset.clicks.tocsr()
    asked = np.diff(clicks.indptr) > 0
    if not dataset.has_click_log or not (clicks.data == np.rint(clicks.data)).all():
        return asked.astype(np.int64)
    most = np.zeros(clicks.shape[0], np.int64)
    rows = row_numbers(clicks.indptr)
    np.maximum.at(most, rows, np.rint(clicks.data).astype(np.int64))
    return most


def _by_time(dataset: Dataset, number: Int64Array) -> Mix | None:
    events = dataset.events
    if events is None or not len(events.times):
        return None
    ordered = np.sort(events.times)
    late = events.times >= ordered[min(len(ordered) - 1, round((1 - LATE_SHARE) * len(ordered)))]
    if late.all():
        return None
    texts, items = number[events.queries], events.items
    asked, clicked = np.zeros(len(number), np.bool_), np.zeros(len(dataset.items), np.bool_)
    asked[texts[~late]], clicked[items[~late]] = True, True
    moments = np.unique(events.times[late], return_inverse=True)[1]
    keys = texts[late] * (int(moments.max()) + 1) + moments
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) < MIN_LATE_SEARCHES:
        return None
    repeated = asked[texts[late][first]]
    known = np.bincount(which, clicked[items[late]], minlength=len(first)) > 0
    return _shares(int(repeated.sum()), int((known & ~repeated).sum()), int((~known & ~repeated).sum()), "times")


def _left_out(dataset: Dataset, number: Int64Array) -> Mix:
    clicks = dataset.clicks.tocsr()
    searches = np.bincount(number, searches_of_rows(dataset), minlength=int(number.max(initial=-1)) + 1)
    texts = number[row_numbers(clicks.indptr)]
    # An item of a text that was searched once has one entry of that text, so that every other is of another text.
    shared = np.bincount(clicks.indices, minlength=clicks.shape[1])[clicks.indices] > 1
    known = np.bincount(texts, shared, minlength=len(searches)) > 0
    once = searches == 1
    return _shares(int(searches[searches > 1].sum()), int((once & known).sum()), int((once & ~known).sum()), "log")


def _shares(repeated: int, warm: int, cold: int, source: str) -> Mix:
    """Return shares; one new text more of either kind is counted than was seen, since none at all proves little."""
    total = repeated + warm + 1 + cold + 1
    return Mix(repeated / total, (warm + 1) / total, (cold + 1) / total, source)


def select_entries(matrix: csr_array, kept: BoolArray) -> csr_array:
    """Return the matrix with only these stored entries."""
    from scipy.sparse import csr_array

    starts = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
    return csr_array((matrix.data[kept], matrix.indices[kept], starts), shape=matrix.shape)


class TextLog(NamedTuple):
    """A click log by text, and the searches of repeated texts that were taken out of it."""

    dataset: Dataset
    texts: list[str]
    number: Int64Array
    clicks: csr_array
    events: ClickEvents | None
    by_text: csr_array
    held: dict[int, list[int]]

    @classmethod
    def of(cls, dataset: Dataset) -> TextLog:
        """Join the clicks of all queries of a text."""
        texts, number = text_numbers(dataset)
        clicks = dataset.clicks.sorted_indices()
        return cls(dataset, texts, number, clicks, dataset.events, _added(clicks, number, len(texts)), {})

    def without_searches(self, count: int, seed: int) -> TextLog:
        """Take out one search each of a number of texts that have several; frequent ones are more likely."""
        if not count:
            return self
        rng = generator(seed)
        searches = self._searches()
        several = np.flatnonzero(searches > 1)
        if not len(several):
            return self
        # At least half of the repeated texts stay whole: what learns from the rest should not lack a kind.
        drawn = min(count, (len(several) + 1) // 2)
        chances = searches[several] / searches[several].sum()
        texts = np.sort(rng.choice(several, drawn, replace=False, p=chances))
        taken = self._of_rows(texts, rng) if self.events is None else self._of_times(texts, self.events)
        clicks, events, held = taken
        by_text = _added(clicks, self.number, len(self.texts))
        return self._replace(clicks=clicks, events=events, held=held, by_text=by_text)

    def _searches(self) -> Int64Array:
        """Return how many searches each text has."""
        if self.events is None:
            rows = searches_of_rows(self.dataset)
            return np.bincount(self.number, rows, minlength=len(self.texts)).astype(np.int64)
        moments = np.unique(self.events.times, return_inverse=True)[1]
        keys = np.unique(self.number[self.events.queries] * (int(moments.max(initial=0)) + 1) + moments)
        return np.bincount(keys // (int(moments.max(initial=0)) + 1), minlength=len(self.texts))

    def _of_times(self, texts: Int64Array, events: ClickEvents) -> tuple[csr_array, ClickEvents, dict[int, list[int]]]:
        """Take out the last search of each text."""
        own = self.number[events.queries]
        last = np.full(len(self.texts), -np.inf)
        np.maximum.at(last, own, events.times)
        out = np.isin(own, texts) & (events.times == last[own])
        held: dict[int, list[int]] = {}
        for text, item in zip(own[out].tolist(), events.items[out].tolist(), strict=True):
            held.setdefault(text, []).append(item)
        left = events.only(~out)
        return left.matrix(self.clicks.shape), left, held

    def _of_rows(self, texts: Int64Array, rng: np.random.Generator) -> tuple[csr_array, None, dict[int, list[int]]]:
        """Take out one query of each text; where a text has one query only, a single one of its clicks."""
        clicks, held = self.clicks.copy(), dict[int, list[int]]()
        asked = np.flatnonzero(np.diff(clicks.indptr) > 0)
        order = asked[np.argsort(self.number[asked], kind="stable")]
        sorted_numbers = self.number[order]  # once: it is as long as the log
        starts, stops = (np.searchsorted(sorted_numbers, texts + more).tolist() for more in (0, 1))
        for text, start, stop in zip(texts.tolist(), starts, stops, strict=True):
            row = int(order[rng.integers(start, stop)])
            entries = slice(clicks.indptr[row], clicks.indptr[row + 1])
            if stop - start > 1:
                held[text] = clicks.indices[entries].tolist()
                clicks.data[entries] = 0
            else:
                weights = clicks.data[entries].astype(np.float64)
                at = int(rng.choice(len(weights), p=weights / weights.sum()))
                held[text] = [int(clicks.indices[entries][at])]
                clicks.data[entries.start + at] -= 1
        clicks.eliminate_zeros()
        return clicks, None, held

    def clicks_of(self, whole: list[int], repeated: list[int]) -> csr_array:
        """Return the clicks of new texts, all of them, and of the searches that were taken out."""
        from scipy.sparse import csr_array, vstack

        rows = np.repeat(np.arange(len(repeated)), [len(self.held[text]) for text in repeated])
        items = np.array([item for text in repeated for item in self.held[text]], np.int64)
        taken = csr_array((np.ones(len(items), np.float32), (rows, items)), shape=(len(repeated), self.clicks.shape[1]))
        taken.sum_duplicates()
        return csr_array(vstack([self.by_text[whole], taken], format="csr"))

    @property
    def text_rows(self) -> Int64Array:
        """The number of the text of each entry of `clicks`."""
        return self.number[row_numbers(self.clicks.indptr)]

    def train(self, kept: BoolArray) -> Dataset:
        """Return the dataset with only these entries of `clicks`."""
        from vizsla.data.dataset import Dataset

        left = select_entries(self.clicks, kept)
        events = None if self.events is None else self.events.among(left)
        features = self.dataset.query_features
        return Dataset(self.dataset.items, self.dataset.queries, clicks=left, query_features=features, events=events)


def _added(clicks: csr_array, number: Int64Array, texts: int) -> csr_array:
    """Return texts × items: the clicks of all queries of a text."""
    from scipy.sparse import csr_array

    rows = number[row_numbers(clicks.indptr)]
    added = csr_array((clicks.data, (rows, clicks.indices)), shape=(texts, clicks.shape[1]))
    added.sum_duplicates()
    return added
