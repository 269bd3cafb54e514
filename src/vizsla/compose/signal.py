"""Signals: numbers of the metadata, such as popularity or age, as bounded terms of a ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe, builds, noted
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.catalog import details_of
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.core.validation import check_type
from vizsla.data.columns import DateColumn, KeyedColumn
from vizsla.data.dataset import SECONDS_PER_DAY, Dataset
from vizsla.data.filter import Filter
from vizsla.data.values import date_span
from vizsla.errors import FormatError, InputError, check_choice
from vizsla.typing import Float32Array, Float64Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

SHAPES = ("linear", "log", "inverse")
MICROSECONDS = 1e6


def numbers_of(items: Strings, field: str) -> tuple[Float64Array, bool]:
    """Return a field of a catalog as numbers, NaN where there is none; and whether they are dates, in seconds."""
    details = details_of(items)
    if details is None or details.lacks(field):  # as in an engine that has no such value yet
        return np.full(len(items), np.nan), False
    column = details.column(field)
    if not isinstance(column, KeyedColumn):
        raise InputError(f"`field` must be a field of numbers or dates. Got {field!r:.60}, of kind {column.kind}.")
    dates = isinstance(column, DateColumn)
    keys = np.append(column.keys.astype(np.float64) / (MICROSECONDS if dates else 1.0), np.nan)
    codes = np.where(column.missing(), len(keys) - 1, column.codes)
    return keys[codes], dates


def signal_values(
    items: Strings, field: str, shape: str, half_life_days: float | None, now: str | float | None
) -> Float32Array:
    """Return what a signal gives each item, from 0 to 1; 0 for an item without a value. See `signal`."""
    numbers, dates = numbers_of(items, field)
    known = np.isfinite(numbers)
    if not known.any():
        return np.zeros(len(numbers), np.float32)
    if half_life_days is not None:
        last = float(numbers[known].max()) if now is None else _moment(now)
        ages = np.maximum(last - np.where(known, numbers, last), 0) / (SECONDS_PER_DAY if dates else 1.0)
        return np.where(known, np.exp2(-ages / half_life_days), 0.0).astype(np.float32)
    low, high = float(numbers[known].min()), float(numbers[known].max())
    if shape == "log":
        bounded = np.log1p(np.maximum(np.where(known, numbers, 0), 0)) / np.log1p(max(high, 1e-300))
    else:
        bounded = (np.where(known, numbers, low) - low) / (high - low if high > low else 1.0)
        bounded = 1 - bounded if shape == "inverse" else bounded
    return np.where(known, np.clip(bounded, 0, 1), 0.0).astype(np.float32)


def check_signal(shape: str, half_life_days: float | None, now: str | float | None) -> None:
    """Raise unless a signal can be made so."""
    check_choice("shape", shape, SHAPES)
    if half_life_days is None:
        if now is not None:
            raise InputError(f"`now` must be left out without `half_life_days`. Got {now!r:.60}.")
        return
    is_number = isinstance(half_life_days, int | float) and not isinstance(half_life_days, bool)
    if not is_number or not 0 < half_life_days < np.inf:
        raise InputError(f"`half_life_days` must be above 0. Got {half_life_days!r:.60}.")
    if now is not None:
        _moment(now)


def _moment(now: str | float) -> float:
    if isinstance(now, int | float) and not isinstance(now, bool) and np.isfinite(now):
        return float(now)
    span = date_span(now) if isinstance(now, str) else None
    if span is None:
        raise InputError(f"`now` must be a date such as 2026-11-18, or a number. Got {now!r:.60}.")
    return span[0] / MICROSECONDS


class Signal(Retriever):
    """A score from 0 to 1 per item, independent of the query: a term of a sum that generates no candidates.

    Use `signal` to make one.

    Parameters
    ----------
    items : Strings
        Item ids.
    values : float32 array
        From 0 to 1.
    field, shape, half_life_days, now
        As for `signal`.
    """

    kind = "signal"
    scale = "scaled"
    generates_candidates = False

    def __init__(
        self,
        items: Strings,
        values: Float32Array,
        field: str,
        shape: str = "linear",
        half_life_days: float | None = None,
        now: str | float | None = None,
    ):
        check_type("items", items, Strings, "Strings")
        sound = isinstance(values, np.ndarray) and values.dtype == np.float32 and values.shape == (len(items),)
        if not sound or (len(values) and not (values.min() >= 0 and values.max() <= 1)):
            raise InputError(f"`values` must be {len(items)} numbers from 0 to 1, a float32 array. Got others.")
        check_signal(shape, half_life_days, now)
        self._items, self.values, self.field, self.shape = items, values, field, shape
        self.half_life_days, self.now = half_life_days, now
        noted(self, Recipe("signal", self._settings))

    @property
    def _settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = {"field": self.field}
        if self.half_life_days is not None:
            return settings | {"half_life_days": self.half_life_days} | ({} if self.now is None else {"now": self.now})
        return settings | ({} if self.shape == "linear" else {"shape": self.shape})

    @property
    def items(self) -> Strings:
        """Item ids by number."""
        return self._items

    @property
    def nbytes(self) -> int:
        """Bytes of the values."""
        return int(self.values.nbytes)

    @property
    def max_score(self) -> float:  # type: ignore[override]
        """The highest value."""
        return float(self.values.max(initial=0.0))

    def __repr__(self) -> str:
        return f"Signal({self.field}, {len(self.items):,} items)"

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        allowed = np.flatnonzero(self.values > 0 if filter is None else (self.values > 0) & filter.mask)
        best = allowed[np.lexsort((allowed, -self.values[allowed]))][:k].astype(np.int32)
        rows = len(queries)
        offsets = np.arange(rows + 1, dtype=np.int64) * len(best)
        scores = np.tile(self.values[best], rows)
        return Candidates.unchecked(offsets, np.tile(best, rows), scores, self.items, Stats(exact=True))

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        return PairScores(self.values[candidates.items], Stats(scored=len(candidates.items)))

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        return Explanation(float(self.values[item]), describe_signal(self.items, self._settings, item))

    def _write(self, writer: ArtifactWriter) -> None:
        writer.parameters(field=self.field, shape=self.shape, half_life_days=self.half_life_days, now=self.now)
        writer.catalog("items", self.items)
        writer.array("values", self.values)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        none = type(None)
        options = {
            "shape": reader.parameter("shape", str),
            "half_life_days": reader.parameter("half_life_days", (int, float, none)),
            "now": reader.parameter("now", (str, int, float, none)),
        }
        try:
            return cls(reader.catalog("items"), reader.array("values", np.float32), reader.parameter("field", str),
                       **options)  # fmt: skip
        except InputError as error:
            raise FormatError(f"{reader.path}: {error}") from error


def describe_signal(items: Strings, settings: dict[str, Any], item: int) -> str:
    """Return a signal of an item in words."""
    details = details_of(items)
    known = details is not None and settings["field"] in details.columns
    value = details.value(settings["field"], item) if details is not None and known else None
    shape = ", ".join(f"{name} {value}" for name, value in settings.items() if name not in ("field", "weight", "name"))
    return f"signal {settings['field']}{f' {value}' if value is not None else ''}{f' ({shape})' if shape else ''}"


@builds("signal", data="items")
def signal(
    items: Any,
    field: str,
    *,
    shape: str = "linear",
    half_life_days: float | None = None,
    now: str | float | None = None,
) -> Signal:
    """Return a field of numbers or dates as a term of a sum: from 0 to 1, and 0 for items without a value.

    Parameters
    ----------
    items : Dataset or Retriever
        Items with metadata.
    field : str
        The field.
    shape : {"linear", "log", "inverse"}
        From the least value to the largest; log(1 + value) / log(1 + largest); or from the largest to the least.
    half_life_days : float, optional
        For dates: 1 for `now`, and half as much for every so many days before. For numbers, of their own unit.
    now : str or float, optional
        The moment that ages are counted from; the largest value unless given.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> shop = Dataset.of([{"id": "a", "text": "fig jam", "sold": 1}, {"id": "b", "text": "fig jam", "sold": 9}])
    >>> popular = signal(shop, "sold", shape="log")
    >>> (bm25(shop).scaled() + 0.1 * popular)("fig").ids
    [['b', 'a']]
    """
    check_signal(shape, half_life_days, now)
    ids = items.item_ids if isinstance(items, Dataset) else getattr(items, "items", items)
    if not isinstance(ids, Strings):
        raise InputError(f"`items` must be a Dataset or a Retriever. Got {type(items).__name__}.")
    return Signal(ids, signal_values(ids, field, shape, half_life_days, now), field, shape, half_life_days, now)
