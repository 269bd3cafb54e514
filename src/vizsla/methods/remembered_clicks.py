"""ClickMemory: the items that were clicked for this very query, by decayed clicks against a prior."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla.base.queries import Queries
from vizsla.base.recipe import builds, settle
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.core.validation import check_type, validate_args
from vizsla.data.dataset import Dataset
from vizsla.data.filter import Filter
from vizsla.errors import FormatError, InputError
from vizsla.learning.clicks import WEIGHT_UNITS, ClickLog, click_triples
from vizsla.learning.recency import recent_clicks
from vizsla.text.streams import TextStream, grown_ids, kept_items, left_ids, new_items
from vizsla.typing import Float32Array, Int32Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

PRIOR_CLICKS = 3.0
"""Clicks on nothing in particular that every query is taken to have: 1 click scores .25, and 20 score .87."""


def normalized_query(text: str) -> str:
    """Return a query's text without differences of case, width and spaces; signs stay, so that C++ is not C.

    Examples
    --------
    >>> normalized_query("  Fig  TREE ")
    'fig tree'
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


class ClickMemory(Retriever):
    """Finds the items that were clicked for the same query, and nothing for a query without clicks.

    An item with c of a query's n clicks scores c / (n + prior): its share of the clicks, brought towards 0 where these
    are few. Add it to a retriever that knows texts, by a sum or by `fuse`. Use `click_memory` to make one.

    Parameters
    ----------
    items : Strings
        Item ids.
    log : ClickLog
        The clicks by normalized query.
    prior : float
        For how many clicks the doubt counts, above 0.

    Examples
    --------
    >>> search = click_memory(["a fig", "a pear"], [("sweet", "0"), ("Sweet", "0"), ("sweet ", "1")])
    >>> print(search.explain("SWEET", "0"))
    0.3333  clicks for this query: 2 of 3, against a prior of 3
    >>> search.with_clicks([("sweet", "1", 5.0)])("sweet").ids
    [['1', '0']]
    """

    kind = "click-memory"
    scale = "click share"
    max_score = 1.0

    def __init__(self, items: Strings, log: ClickLog, *, prior: float = PRIOR_CLICKS):
        check_type("items", items, Strings, "Strings")
        check_type("log", log, ClickLog, "a ClickLog")
        if log.width != len(items):
            raise InputError(f"`log` must be of {len(items)} items. Got one of {log.width}.")
        self._items, self.log, self.prior = items, log, _checked_prior(prior)

    @property
    def items(self) -> Strings:
        """Item ids by number."""
        return self._items

    @property
    def half_life(self) -> float | None:
        """Days after which the clicks that it was built from weighed half."""
        return self.log.half_life

    @property
    def nbytes(self) -> int:
        """Bytes of the clicks and of the queries' texts."""
        return int(self.log.nbytes + self.log.queries.nbytes)

    def __repr__(self) -> str:
        return f"ClickMemory({len(self.items):,} items, {len(self.log):,} queries)"

    def with_clicks(self, clicks: Any) -> Self:
        """Return it with more clicks, which count in full."""
        return self._with(self._changed(clicks, 1))

    def without_clicks(self, clicks: Any) -> Self:
        """Take clicks away again; more than there are raises."""
        return self._with(self._changed(clicks, -1))

    def with_items(self, items: Mapping[str, str] | Iterable[tuple[str, str]]) -> Self:
        """Return it with these items, which have no clicks; their texts are not used."""
        pairs = new_items(self.items, items)
        ids = grown_ids(self.items, [item for item, _ in pairs], items)
        return self._with(self.log.renumbered(np.arange(len(self.items)), len(ids)), ids)

    def _without_items(self, ids: list[str], memo: dict[int, Retriever]) -> Self:
        kept = kept_items(self.items, ids)
        numbers = np.full(len(self.items), -1, np.int64)
        numbers[kept] = np.arange(len(kept))
        return self._with(self.log.renumbered(numbers, len(kept)), left_ids(self.items, kept))

    def refit_on(self, dataset: Dataset, *, threads: int = 1) -> Self:
        """Remember this dataset's clicks instead; without times they do not decay."""
        check_type("dataset", dataset, Dataset, "a Dataset")
        return self._with(_log(dataset, self.items, None if dataset.events is None else self.half_life))

    def _changed(self, clicks: Any, sign: int) -> ClickLog:
        return self.log.changed(_normalized(clicks, self.items), self.items, _flags, sign=sign)[0]

    def _with(self, log: ClickLog, items: Strings | None = None) -> Self:
        return self._kept(type(self)(self.items if items is None else items, log, prior=self.prior))

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        rows = [self._remembered(text) for text in queries.texts]
        if filter is not None:
            rows = [(items[filter.mask[items]], scores[filter.mask[items]]) for items, scores in rows]
        offsets = np.cumsum([0, *(len(items) for items, _ in rows)], dtype=np.int64)
        items = np.concatenate([np.zeros(0, np.int32), *(each for each, _ in rows)])
        scores = np.concatenate([np.zeros(0, np.float32), *(each for _, each in rows)])
        found = Candidates.unchecked(offsets, items, None, self.items, Stats())
        return found.with_scores(PairScores(scores, Stats(exact=True)), k=k)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        scores = np.zeros(len(candidates.items), np.float32)
        for row, text in enumerate(queries.texts):
            start, end = candidates.offsets[row : row + 2].tolist()
            known, shares = self._remembered(text)
            if len(known):
                asked = candidates.items[start:end]
                at = np.minimum(np.searchsorted(known, asked), len(known) - 1)
                scores[start:end] = np.where(known[at] == asked, shares[at], 0.0)
        return PairScores(scores, Stats(scored=len(scores)))

    def _matches(self, queries: Queries, threads: int) -> Int32Array:
        return self._remembered(queries.texts[0])[0]

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        row = self._row(queries.texts[0])
        if row is None:
            return Explanation(0.0, "no clicks for this query")
        own = self.log.units[row][self.log.items[row] == item].sum() / WEIGHT_UNITS
        total = self.log.units[row].sum() / WEIGHT_UNITS
        reason = f"clicks for this query: {own:.4g} of {total:.4g}, against a prior of {self.prior:g}"
        return Explanation(self._score_one(queries, item), reason)

    def _row(self, text: str) -> slice | None:
        """Return where the clicks of a query are; None where it has none."""
        key = normalized_query(text)
        if not len(self.log) or key not in self.log.queries:
            return None
        number = self.log.queries.number(key)
        return slice(int(self.log.offsets[number]), int(self.log.offsets[number + 1]))

    def _remembered(self, text: str) -> tuple[Int32Array, Float32Array]:
        """Return the items of a query, ascending, and their scores."""
        row = self._row(text)
        if row is None:
            return np.zeros(0, np.int32), np.zeros(0, np.float32)
        units = self.log.units[row]
        return self.log.items[row], (units / (units.sum() + self.prior * WEIGHT_UNITS)).astype(np.float32)

    def _write(self, writer: ArtifactWriter) -> None:
        writer.parameters(prior=self.prior)
        writer.catalog("items", self.items)
        self.log.write(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        items, prior = reader.catalog("items"), reader.parameter("prior", (float, int))
        log = ClickLog.read(reader, width=len(items))
        try:
            return cls(items, log, prior=prior)
        except InputError as error:
            raise FormatError(f"{reader.path}: {error}") from error


@builds("click_memory", data="items")
@validate_args
def click_memory(
    items: Any,
    clicks: Any = None,
    *,
    ids: Iterable[str] | None = None,
    prior: float = PRIOR_CLICKS,
    half_life: float | str | None = None,
) -> ClickMemory:
    """Build a retriever of the items that were clicked for the same query.

    Parameters
    ----------
    items
        A Dataset, a mapping of id to text, texts, or (id, text) pairs; texts are not used.
    clicks : Dataset or iterable, optional
        (query text, item id) pairs, with or without a weight and a time. Unless given, those of the Dataset.
    ids : iterable of str, optional
        Ids for texts that have none; without it an item's id is its number in decimal.
    prior : float
        For how many clicks the doubt counts: with 3, the item of a single click scores .25, that of twenty .87.
    half_life : float, "auto" or None
        Days after which a click counts half; "auto" chooses on the latest clicks, held out. None: clicks do not age.

    Examples
    --------
    >>> click_memory({"f": "a fig", "p": "a pear"}, [("sweet", "f")])("Sweet").ids
    [['f']]
    """
    _checked_prior(prior)
    if clicks is None and not isinstance(items, Dataset):
        raise InputError(f"`clicks` must be given where `items` is no Dataset. Got {type(items).__name__} alone.")
    stream = TextStream(items, ids)
    for _ in stream:
        pass
    given = items if clicks is None else clicks
    if half_life is not None and not isinstance(given, Dataset):
        given = list(given)

    def build(some: Any) -> ClickMemory:
        return ClickMemory(stream.ids, _log(some, stream.ids, None), prior=prior)

    aged, days = recent_clicks(given, half_life, build)
    made = build(aged)
    made.log.half_life = days
    if half_life is not None:
        settle(made, half_life=days)
    return made


def _checked_prior(prior: float) -> float:
    if isinstance(prior, bool) or not isinstance(prior, int | float) or not 0 < prior < float("inf"):
        raise InputError(f"`prior` must be a number above 0. Got {prior!r:.60}.")
    return float(prior)


def _log(clicks: Any, items: Strings, half_life: float | None) -> ClickLog:
    """Return the clicks by normalized query, decayed where they have a half-life."""
    aged = clicks if half_life is None else recent_clicks(clicks, half_life, lambda some: some)[0]
    log = ClickLog.of(_normalized(aged, items), items)
    log.half_life = half_life
    return log


def _normalized(clicks: Any, items: Strings) -> list[tuple[str, str, float]]:
    texts, numbers, units = click_triples(clicks, items)
    names = items.take(numbers.astype(np.int32)) if len(numbers) else []
    weights = (units / WEIGHT_UNITS).tolist()
    return [(normalized_query(text), name, w) for text, name, w in zip(texts, names, weights, strict=True)]


def _flags(texts: list[str]) -> Float32Array:
    """Return a vector for every text that says nothing but that it is there."""
    return np.ones((len(texts), 1), np.float32)
