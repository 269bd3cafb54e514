"""Fold: a dataset without some searches' clicks, and those searches to judge by: repeated, warm and cold ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.core.sparse import row_numbers
from vizsla.core.validation import check_seed, generator
from vizsla.errors import InputError
from vizsla.learning.query_mix import (
    COLD,
    QUERY_KINDS,
    REPEATED,
    WARM,
    Mix,
    predicted_mix,
    searches_of_rows,
    text_numbers,
)
from vizsla.learning.splits import HeldOut, hold_out_counts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.data.dataset import ClickEvents, Dataset

SHARE, ENOUGH, MOST = 0.1, 2000, 4000
"""A tenth of the texts is held out, so that what learns from the rest stays nearly as good; where that is less than
`ENOUGH`, up to twice as many. More than `MOST` would only take longer."""
MIN_TEXTS_TO_FOLD = 5
"""So many different texts with clicks there must be, to hold any out."""


class TooFewClicksError(InputError):
    """There are too few clicks to hold any out."""


class Fold(NamedTuple):
    """A dataset parted in two: what may be learned from, and what is judged by.

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
    def cold(self) -> NDArray[np.bool_]:
        """Which of the texts are cold."""
        return np.asarray(self.kinds == COLD)


def draw_fold(dataset: Dataset, *, cold: float | str = "auto", seed: int = 0) -> Fold:
    """Hold out searches of each kind that is expected; where the log lacks a kind, it gives what it can.

    How many of each kind are held out lies halfway between its expected share and equal numbers, so that rare kinds
    can be judged, too. `Fold.mix` has the expected shares.

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
    >>> fold = draw_fold(Dataset.of({"f": "fig", "p": "pear", "g": "grape"}, clicks=clicks), cold=0.0)
    >>> len(fold.texts), fold.train.clicks.nnz, fold.kinds.tolist()
    (1, 4, ['warm'])
    """
    check_seed(seed)  # before anything else is taken for a want of clicks
    mix = predicted_mix(dataset, cold)
    log = _TextLog.of(dataset)
    count = int((np.diff(log.by_text.indptr) > 0).sum())
    if count < MIN_TEXTS_TO_FOLD:
        raise TooFewClicksError(
            f"To choose by, there must be clicks of {MIN_TEXTS_TO_FOLD} different texts. Got {count}."
        )
    wanted = _wanted(count, mix)
    log = log.without_searches(wanted[REPEATED], seed)
    eligible = np.ones(len(log.texts), np.bool_)
    eligible[list(log.held)] = False
    found = _found(log, wanted[COLD], wanted[WARM], eligible, seed)
    train = log.train(np.concatenate([found.cold, found.warm]), found.cold_items)
    repeated = sorted(log.held)
    if not len(found.cold) + len(found.warm) + len(repeated):
        raise TooFewClicksError("To choose by, some clicks must be held out. Got too few of them.")
    chosen = [*found.cold.tolist(), *found.warm.tolist(), *repeated]
    counts = [len(found.cold), len(found.warm), len(repeated)]
    kinds = np.repeat(np.array([COLD, WARM, REPEATED]), counts)
    wanted_clicks = log.clicks_of(chosen[: sum(counts[:2])], repeated)
    return Fold(train, [log.texts[row] for row in chosen], wanted_clicks, kinds, mix)


def _found(log: _TextLog, cold: int, warm: int, eligible: NDArray[np.bool_], seed: int) -> HeldOut:
    """Hold out cold and warm texts; where one kind is too rare, more of the other."""
    found = hold_out_counts(log.by_text, cold=cold, warm=warm, seed=seed, eligible=eligible)
    if len(found.cold) < cold:
        cold, warm = len(found.cold), warm + cold - len(found.cold)
    elif len(found.warm) < warm:
        cold, warm = cold + warm - len(found.warm), len(found.warm)
    else:
        return found
    return hold_out_counts(log.by_text, cold=cold, warm=warm, seed=seed, eligible=eligible)


def _wanted(count: int, mix: Mix) -> dict[str, int]:
    """Return how many texts of each kind are held out."""
    total = max(1, round(min(max(SHARE * count, min(ENOUGH, 2 * SHARE * count)), MOST)))
    expected = [kind for kind in QUERY_KINDS if mix.shares[kind] > 0]
    wanted = {kind: round(total * (mix.shares[kind] + 1 / len(expected)) / 2) for kind in expected}
    return dict.fromkeys(QUERY_KINDS, 0) | wanted


class _TextLog(NamedTuple):
    """A click log by text, and the searches of repeated texts that were taken out of it."""

    dataset: Dataset
    texts: list[str]
    number: NDArray[np.int64]
    clicks: csr_array
    events: ClickEvents | None
    by_text: csr_array
    held: dict[int, list[int]]

    @classmethod
    def of(cls, dataset: Dataset) -> _TextLog:
        texts, number = text_numbers(dataset)
        clicks = dataset.clicks.sorted_indices()
        return cls(dataset, texts, number, clicks, dataset.events, _added(clicks, number, len(texts)), {})

    def without_searches(self, count: int, seed: int) -> _TextLog:
        """Take out one search each of so many texts that have several; likely those that are often asked."""
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

    def _searches(self) -> NDArray[np.int64]:
        """Return how many searches each text has."""
        if self.events is None:
            rows = searches_of_rows(self.dataset)
            return np.bincount(self.number, rows, minlength=len(self.texts)).astype(np.int64)
        moments = np.unique(self.events.times, return_inverse=True)[1]
        keys = np.unique(self.number[self.events.queries] * (int(moments.max(initial=0)) + 1) + moments)
        return np.bincount(keys // (int(moments.max(initial=0)) + 1), minlength=len(self.texts))

    def _of_times(
        self, texts: NDArray[np.int64], events: ClickEvents
    ) -> tuple[csr_array, ClickEvents, dict[int, list[int]]]:
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

    def _of_rows(
        self, texts: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[csr_array, None, dict[int, list[int]]]:
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

    def train(self, held: NDArray[np.int64], cold_items: NDArray[np.bool_]) -> Dataset:
        """Return the dataset without these texts' clicks and without those on cold items."""
        from scipy.sparse import csr_array

        from vizsla.data.dataset import Dataset

        out = np.zeros(len(self.texts), np.bool_)
        out[held] = True
        rows = row_numbers(self.clicks.indptr)
        kept = ~out[self.number[rows]] & ~cold_items[self.clicks.indices]
        left = csr_array((self.clicks.data[kept], (rows[kept], self.clicks.indices[kept])), shape=self.clicks.shape)
        events = None if self.events is None else self.events.among(left)
        features = self.dataset.query_features
        return Dataset(self.dataset.items, self.dataset.queries, clicks=left, query_features=features, events=events)


def _added(clicks: csr_array, number: NDArray[np.int64], texts: int) -> csr_array:
    """Return texts × items: the clicks of all queries of a text."""
    from scipy.sparse import csr_array

    rows = np.repeat(number, np.diff(clicks.indptr))
    added = csr_array((clicks.data, (rows, clicks.indices)), shape=(texts, clicks.shape[1]))
    added.sum_duplicates()
    return added
