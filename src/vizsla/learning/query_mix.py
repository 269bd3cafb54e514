"""Mix: which shares of the queries to come repeat, ask for items with clicks, or ask for items without any."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.core.sparse import row_numbers
from vizsla.errors import InputError, check_range

if TYPE_CHECKING:
    from vizsla.data.dataset import Dataset

REPEATED, WARM, COLD = "repeated", "warm", "cold"
QUERY_KINDS = (REPEATED, WARM, COLD)
LATE = 0.1
"""The share of the clicks, the latest, that shows what comes after the others."""
FEWEST = 30
"""Fewer late searches than this say too little; the whole log is used instead."""
COMMON = 0.1
"""From this share on, a kind of query may not pay for the gain of another."""


class Mix(NamedTuple):
    """Shares of the kinds of queries that are expected; they add up to 1.

    Attributes
    ----------
    repeated : float
        Queries whose text has been asked before.
    warm : float
        New texts about an item with clicks.
    cold : float
        New texts about items without clicks.
    source : str
        What the shares were told from: "times", "log", or "given" for a share that was passed.
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


def text_numbers(dataset: Dataset) -> tuple[list[str], NDArray[np.int64]]:
    """Return the different texts of the queries, and for each query the number of its own."""
    _, every = dataset.query_texts()
    first: dict[str, int] = {}
    number = np.fromiter((first.setdefault(text, len(first)) for text in every), np.int64, len(every))
    return list(first), number


def searches_of_rows(dataset: Dataset) -> NDArray[np.int64]:
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


def _by_time(dataset: Dataset, number: NDArray[np.int64]) -> Mix | None:
    events = dataset.events
    if events is None or not len(events.times):
        return None
    ordered = np.sort(events.times)
    late = events.times >= ordered[min(len(ordered) - 1, round((1 - LATE) * len(ordered)))]
    if late.all():
        return None
    texts, items = number[events.queries], events.items
    asked, clicked = np.zeros(len(number), np.bool_), np.zeros(len(dataset.items), np.bool_)
    asked[texts[~late]], clicked[items[~late]] = True, True
    moments = np.unique(events.times[late], return_inverse=True)[1]
    keys = texts[late] * (int(moments.max()) + 1) + moments
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) < FEWEST:
        return None
    repeated = asked[texts[late][first]]
    known = np.bincount(which, clicked[items[late]], minlength=len(first)) > 0
    return _shares(int(repeated.sum()), int((known & ~repeated).sum()), int((~known & ~repeated).sum()), "times")


def _left_out(dataset: Dataset, number: NDArray[np.int64]) -> Mix:
    clicks = dataset.clicks.tocsr()
    searches = np.bincount(number, searches_of_rows(dataset), minlength=int(number.max(initial=-1)) + 1)
    texts = np.repeat(number, np.diff(clicks.indptr))
    pairs = np.unique(texts * np.int64(clicks.shape[1]) + clicks.indices)
    items = pairs % clicks.shape[1] if clicks.shape[1] else pairs
    shared = np.bincount(items, minlength=clicks.shape[1])[items] > 1  # clicked for another text, too
    known = np.bincount(pairs // max(clicks.shape[1], 1), shared, minlength=len(searches)) > 0
    once = searches == 1
    return _shares(int(searches[searches > 1].sum()), int((once & known).sum()), int((once & ~known).sum()), "log")


def _shares(repeated: int, warm: int, cold: int, source: str) -> Mix:
    """Return shares; one new text more of either kind is counted than was seen, since none at all proves little."""
    total = repeated + warm + 1 + cold + 1
    return Mix(repeated / total, (warm + 1) / total, (cold + 1) / total, source)
