"""Searches: what people asked and clicked in a part of a log; and its split into learn, choose and report."""

from __future__ import annotations

from math import erfc, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates
from vizsla.core.validation import generator
from vizsla.data.dataset import ClickEvents, Dataset
from vizsla.learning.query_mix import COLD, REPEATED, WARM, Mix, text_numbers
from vizsla.learning.selection import Judge
from vizsla.learning.splits import Holdout, draw_holdout
from vizsla.typing import BoolArray, Float64Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DEPTH = 10
"""How many hits are measured: nDCG@10."""
WINDOW_SHARE = 0.1
"""The share of the searches, the latest, that reports; as many before them choose."""
MAX_CHOOSING, MAX_REPORTING = 2000, 5000
"""More searches than this are sampled: the standard error hardly falls further."""
MIN_TIMED_SEARCHES = 100
"""Fewer searches in a window of time say too little: then whole queries are held out instead."""


class Difference95(NamedTuple):
    """A difference of means with its standard error, searches of one text counted as one observation.

    Attributes
    ----------
    mean : float
        The difference.
    error : float
        Its standard error.
    quantile : float
        How many standard errors the 95 % confidence interval reaches: more where there are few observations.

    Examples
    --------
    >>> gain = Difference95(0.02, 0.01)
    >>> gain.low, gain.high, gain.significant
    (0.0004, 0.0396, True)
    """

    mean: float
    error: float
    quantile: float = 1.96

    @property
    def low(self) -> float:
        """The lower end of the 95 % confidence interval."""
        return round(self.mean - self.quantile * self.error, 12)

    @property
    def high(self) -> float:
        """The upper end of the 95 % confidence interval."""
        return round(self.mean + self.quantile * self.error, 12)

    @property
    def p(self) -> float:
        """The two-sided p-value by the normal distribution."""
        return erfc(abs(self.mean) / self.error / sqrt(2)) if self.error else float(not self.mean)

    @property
    def significant(self) -> bool:
        """Whether 0 lies outside of the interval."""
        return self.low > 0 or self.high < 0


class Searches(NamedTuple):
    """What was asked, in the proportions in which it was asked, and what was clicked for it.

    Attributes
    ----------
    texts : list of str
        A text for each search; repeated searches are there as often as they came.
    wanted : csr_array
        Searches × items: the clicks.
    kinds : array of str
        "repeated": the text had been asked before; "warm": it is new, and one of its items had clicks; "cold": neither.
    mix : Mix
        The share of each kind among the searches to come.
    """

    texts: list[str]
    wanted: csr_array
    kinds: NDArray[np.str_]
    mix: Mix

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def judge(self) -> Judge:
        """How kinds of searches are weighed."""
        return Judge(self.kinds, self.mix.shares)

    @property
    def weights(self) -> Float64Array:
        """What each search weighs; the weights add up to 1."""
        shares, counts = self.judge.weights, self.judge.counts
        each = {kind: share / counts[kind] for kind, share in shares.items()}
        return np.array([each.get(kind, 0.0) for kind in self.kinds.tolist()])

    def take(self, rows: NDArray[np.int64]) -> Searches:
        """Return some of the searches, in this order."""
        return Searches([self.texts[row] for row in rows.tolist()], self.wanted[rows], self.kinds[rows], self.mix)

    def sample(self, count: int, seed: int) -> Searches:
        """Return a random sample of at most this number of searches."""
        if len(self) <= count:
            return self
        return self.take(np.sort(generator(seed).permutation(len(self))[:count]))

    def answers(self, retriever: Retriever, depth: int = DEPTH, *, threads: int = 1) -> Candidates:
        """Search each different text once, and return the answers in the order of the different texts."""
        most = min(depth, max(len(retriever.items), 1))
        return retriever(list(dict.fromkeys(self.texts)), most, threads=threads)

    def measure(self, found: Candidates) -> Float64Array:
        """Return nDCG@10 of every search, given answers to the different texts."""
        first = {text: at for at, text in enumerate(dict.fromkeys(self.texts))}
        discounts = 1 / np.log2(np.arange(DEPTH) + 2)
        ideal = np.concatenate([[1.0], np.cumsum(discounts)])
        values = np.zeros(len(self))
        for row, text in enumerate(self.texts):
            at = first[text]
            hits = found.items[found.offsets[at] : min(found.offsets[at + 1], found.offsets[at] + DEPTH)]
            wanted = self.wanted.indices[self.wanted.indptr[row] : self.wanted.indptr[row + 1]]
            right = np.isin(hits, wanted)
            values[row] = discounts[: len(hits)][right].sum() / ideal[min(len(wanted), DEPTH)]
        return values

    def quality(self, values: Float64Array) -> float:
        """Return the mean over the searches to come."""
        return float(values @ self.weights)

    def interval(self, values: Float64Array, kept: BoolArray | None = None) -> Difference95:
        """Return a mean with its standard error, over all searches or over some.

        Searches of one text are no independent observations, so texts are the clusters of the variance. With few of
        them the interval is that of Student's t; one text alone says nothing about others.
        """
        weights = self.weights if kept is None else np.where(kept, self.weights, 0.0)
        total = weights.sum()
        if not total:
            return Difference95(0.0, 0.0)
        weights = weights / total
        mean = round(float(values @ weights), 12)
        number = {text: at for at, text in enumerate(dict.fromkeys(self.texts))}
        clusters = np.fromiter((number[text] for text in self.texts), np.int64, len(self))
        sums = np.bincount(clusters, weights * (values - mean))
        count = len(np.unique(clusters[weights > 0]))
        if count < 2:
            return Difference95(mean, 1.0)
        from scipy.special import stdtrit

        error = np.sqrt((sums**2).sum() * count / (count - 1))
        return Difference95(mean, float(error), float(stdtrit(count - 1, 0.975)))


class LearningSplits(NamedTuple):
    """Three parts of a log: what is learned from, what is chosen by, and what reports once.

    Attributes
    ----------
    learn : Dataset
        All items, and the clicks that candidates learn from.
    choose : Searches
        By which they are chosen.
    before_report : Dataset
        All items, and the clicks of both parts: what the chosen ones learn from to report.
    report : Searches
        Opened once, at the end.
    by : {"time", "query"}
        Whether the parts follow each other in time, or whole queries were held out.
    """

    learn: Dataset
    choose: Searches
    before_report: Dataset
    report: Searches
    by: str

    @property
    def learn_clicks(self) -> int:
        """How many clicks there are to learn from: one by one where the log has times, else pairs."""
        events = self.learn.events
        return int(self.learn.clicks.nnz) if events is None else len(events.times)

    def sampled(self, count: int, seed: int) -> LearningSplits:
        """Return the splits with so many searches at most that choose, and that report."""
        return self._replace(choose=self.choose.sample(count, seed), report=self.report.sample(count, seed))


def split_log(dataset: Dataset, *, seed: int = 0) -> LearningSplits:
    """Split a log by time where it has times, else by query, stratified by the kinds of queries that it predicts.

    Parameters
    ----------
    dataset : Dataset
        One with clicks.
    seed : int
        Draws what is held out where there are no times, and samples of large windows.

    Examples
    --------
    >>> log = [(f"word{n % 40}", str(n % 20), 1.0, 86400.0 * n) for n in range(1000)]
    >>> splits = split_log(Dataset.of({str(n): f"item {n}" for n in range(20)}, clicks=log))
    >>> splits.by, len(splits.choose), len(splits.report), splits.learn.clicks.sum()
    ('time', 100, 100, np.float32(800.0))
    """
    moments = _moments(dataset)
    if moments is not None and dataset.events is not None:
        first, second = moments
        return LearningSplits(
            _before(dataset, dataset.events, first),
            _window(dataset, dataset.events, first, second).sample(MAX_CHOOSING, seed),
            _before(dataset, dataset.events, second),
            _window(dataset, dataset.events, second, np.inf).sample(MAX_REPORTING, seed),
            "time",
        )
    last = draw_holdout(dataset, seed=seed)
    middle = draw_holdout(last.train, seed=seed + 1)
    return LearningSplits(middle.train, _of_holdout(middle), last.train, _of_holdout(last), "query")


def newest_clicks(dataset: Dataset, count: int) -> Dataset:
    """Return the dataset with a number of its newest clicks; without times, with those of the first queries.

    Examples
    --------
    >>> fruit = Dataset.of(["fig", "pear"], clicks=[("a", "0", 1, 1e9), ("b", "1", 1, 2e9)])
    >>> newest_clicks(fruit, 1).clicks.toarray().tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    events = dataset.events
    if events is not None:
        if len(events.times) <= count:
            return dataset
        return _before(dataset, events.only(events.times >= np.sort(events.times)[-count]), np.inf)
    if dataset.clicks.nnz <= count:
        return dataset
    from vizsla.learning.query_mix import select_entries

    kept = np.arange(dataset.clicks.nnz) < dataset.clicks.indptr[np.searchsorted(dataset.clicks.indptr, count)]
    left = select_entries(dataset.clicks, kept)
    return Dataset(dataset.items, dataset.queries, clicks=left, query_features=dataset.query_features)


def _moments(dataset: Dataset) -> tuple[float, float] | None:
    """Return when choosing and reporting begin; None where the log has too few moments for that."""
    events = dataset.events
    if events is None or not len(events.times):
        return None
    number = text_numbers(dataset)[1]
    searches = np.unique(np.stack([events.times, number[events.queries].astype(np.float64)]), axis=1)[0]
    count = len(searches)
    held = round(WINDOW_SHARE * count)
    if held < MIN_TIMED_SEARCHES:
        return None
    first, second = float(searches[count - 2 * held]), float(searches[count - held])
    return (first, second) if searches[0] < first < second else None


def _before(dataset: Dataset, events: ClickEvents, moment: float) -> Dataset:
    kept = events.only(events.times < moment)
    clicks = kept.matrix(dataset.clicks.shape)
    return Dataset(dataset.items, dataset.queries, clicks=clicks, events=kept, query_features=dataset.query_features)


def _window(dataset: Dataset, events: ClickEvents, start: float, stop: float) -> Searches:
    """Return the searches between two moments, and of what kind each is, given all clicks before the first."""
    from scipy.sparse import csr_array

    texts, number = text_numbers(dataset)
    own = number[events.queries]
    inside = (events.times >= start) & (events.times < stop)
    asked, clicked = np.zeros(len(texts), np.bool_), np.zeros(len(dataset.items), np.bool_)
    before = events.times < start
    asked[own[before]], clicked[events.items[before]] = True, True
    pairs = np.stack([events.times[inside], own[inside].astype(np.float64)])
    searches, row = np.unique(pairs, axis=1, return_inverse=True)
    row, which = row.ravel(), searches[1].astype(np.int64)
    items = events.items[inside]
    wanted = csr_array((np.ones(len(items), np.float32), (row, items)), shape=(len(which), len(dataset.items)))
    wanted.sum_duplicates()
    known = np.bincount(row, clicked[items], minlength=len(which)) > 0
    kinds = np.where(asked[which], REPEATED, np.where(known, WARM, COLD))
    repeated, warm, cold = (float((kinds == kind).mean()) for kind in (REPEATED, WARM, COLD))
    return Searches([texts[at] for at in which.tolist()], wanted, kinds, Mix(repeated, warm, cold, "times"))


def _of_holdout(held: Holdout) -> Searches:
    return Searches(held.texts, held.wanted.tocsr(), held.kinds, held.mix)
