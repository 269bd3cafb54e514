"""Facets: how many of the items that were found have each value of a field, or lie in each range of it."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from vizsla.core.validation import is_iterable
from vizsla.data.columns import BooleanColumn, Column, DateColumn, KeyedColumn, ListColumn, NumberColumn
from vizsla.data.conditions import And, Condition, joined
from vizsla.data.metadata import ItemMetadata
from vizsla.errors import InputError, check_positive
from vizsla.typing import Int32Array, Int64Array

DEFAULT_VALUES = 100
"""Values of a facet that are listed unless told otherwise."""
MAX_BUCKETS = 1000
"""Ranges of a histogram: of a longer one, those without items are left out."""
INTERVALS = {"year": "Y", "month": "M", "week": "W", "day": "D", "hour": "h"}
_HOW = re.compile(rf"\d+|{'|'.join(INTERVALS)}|[^:|]+(\|[^:|]+)+")
_MONDAY = 3
"""Days between a Monday and the Thursday on which 1970 began."""


@dataclass(frozen=True, slots=True)
class Facet:
    """How one field is counted: by values, or by ranges if given.

    Parameters
    ----------
    field : str
        A field of the metadata.
    size : int
        How many values are listed, the most frequent first.
    bins : int, optional
        Numbers in at most this number of ranges of equal, round width.
    edges : tuple, optional
        Numbers or dates in ranges between these edges, each of which belongs to the range that it begins.
    interval : {"year", "month", "week", "day", "hour"}, optional
        Dates in calendar intervals (UTC).

    Examples
    --------
    >>> Facet.of("brand"), Facet.of("price:5").bins, Facet.of("price:0|10|20").edges, Facet.of("day:month").interval
    (Facet(field='brand', size=100, bins=None, edges=None, interval=None), 5, ('0', '10', '20'), 'month')
    """

    field: str
    size: int = DEFAULT_VALUES
    bins: int | None = None
    edges: tuple[Any, ...] | None = None
    interval: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.field, str) or not self.field:
            raise InputError(f"`field` of a facet must be a name. Got {self.field!r:.60}.")
        check_positive("size", self.size)
        if sum(way is not None for way in (self.bins, self.edges, self.interval)) > 1:
            raise InputError("A facet must have one of `bins`, `edges` and `interval`. Got several.")
        if self.bins is not None and check_positive("bins", self.bins) > MAX_BUCKETS:
            raise InputError(f"`bins` must be at most {MAX_BUCKETS}. Got {self.bins}.")
        if self.interval is not None and self.interval not in INTERVALS:
            raise InputError(f"`interval` must be one of {', '.join(INTERVALS)}. Got {self.interval!r:.60}.")
        if self.edges is not None and not 2 <= len(self.edges) <= MAX_BUCKETS + 1:
            raise InputError(f"`edges` must be 2 to {MAX_BUCKETS + 1} values. Got {len(self.edges)}.")

    @classmethod
    def of(cls, given: Any, how: Any = None) -> Facet:
        """Read a facet from a field, or from a text: "price:10" (bins), "day:month", "price:0|10|20" (edges).

        Parameters
        ----------
        given : str or Facet
            The field, or the text.
        how : int, str, sequence or mapping, optional
            Bins, an interval, edges, or any of the class's parameters by name.
        """
        if isinstance(given, Facet):
            return given
        if not isinstance(given, str):
            raise InputError(f"A facet must be a field or a text such as price:10. Got {given!r:.60}.")
        if how is None:
            field, _, rest = given.rpartition(":")
            if not field or _HOW.fullmatch(rest) is None:
                return cls(given)
            given, how = field, int(rest) if rest.isdigit() else tuple(rest.split("|")) if "|" in rest else rest
        if isinstance(how, Mapping):
            named: Any = {name: tuple(value) if name == "edges" else value for name, value in how.items()}
            if unknown := named.keys() - {"size", "bins", "edges", "interval"}:
                raise InputError(f"A facet must have size, bins, edges or interval. Got {sorted(unknown)[0]!r:.60}.")
            return cls(given, **named)
        if isinstance(how, bool) or not isinstance(how, int | str | Sequence):
            raise InputError(f"A facet must be given bins, an interval or edges. Got {how!r:.60}.")
        if isinstance(how, int):
            return cls(given, bins=how)
        return cls(given, interval=how) if isinstance(how, str) else cls(given, edges=tuple(how))


def facets_of(given: Any) -> list[Facet]:
    """Read facets: one, a sequence of fields and texts, or a mapping of fields to how they are counted.

    Examples
    --------
    >>> [facet.field for facet in facets_of("brand,price:10")], facets_of({"price": [0, 10]})[0].edges
    (['brand', 'price'], (0, 10))
    """
    if given is None:
        return []
    if isinstance(given, str):
        given = [each.strip() for each in given.split(",")]
    if isinstance(given, Facet):
        return [given]
    if not is_iterable(given):
        raise InputError(f"`facets` must be fields of the metadata. Got {type(given).__name__}.")
    found = [Facet.of(*each) for each in given.items()] if isinstance(given, Mapping) else [Facet.of(f) for f in given]
    if len({facet.field for facet in found}) < len(found):
        raise InputError("`facets` must name each field once. Got one twice.")
    return found


class FacetValue(NamedTuple):
    """A value of a field, or a range of values, and how many items have it.

    Attributes
    ----------
    value : str, int, float or bool
        The value; of a range, where it begins.
    count : int
        How many of the items that were found have it.
    end : str, int or float, optional
        Where a range ends: the first value that is not in it.
    """

    value: Any
    count: int  # type: ignore[assignment]
    end: Any = None


@dataclass(frozen=True, slots=True)
class FacetCounts:
    """The counts of one field.

    Attributes
    ----------
    field : str
        The field.
    values : list of FacetValue
        The most frequent values, equal counts in the order of the values; or ranges in ascending order.
    missing : int
        How many items have no value.
    others : int
        How many different values are not listed; of given edges, how many items lie outside of all ranges.
    """

    field: str
    values: list[FacetValue]
    missing: int
    others: int

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as JSON has them."""
        values = [
            {"value": each.value, "count": each.count} | ({} if each.end is None else {"end": each.end})
            for each in self.values
        ]
        return {"values": values, "missing": self.missing, "others": self.others}


def count_facet(details: ItemMetadata, facet: Facet, numbers: Int32Array) -> FacetCounts:
    """Count a field over these items.

    Examples
    --------
    >>> from vizsla.core.catalog import Item
    >>> from vizsla.data.metadata_builder import DetailsCollector
    >>> items = [Item(str(n), "", metadata={"price": price}) for n, price in enumerate((3, 14, 3))]
    >>> details, everything = DetailsCollector.of(items), np.arange(3, dtype=np.int32)
    >>> count_facet(details, Facet("price"), everything).values
    [FacetValue(value=3, count=2, end=None), FacetValue(value=14, count=1, end=None)]
    >>> count_facet(details, Facet("price", bins=2), everything).values
    [FacetValue(value=0, count=2, end=10), FacetValue(value=10, count=1, end=20)]
    """
    column = details.column(facet.field)
    codes = column.codes.take(numbers)
    if facet.bins is None and facet.edges is None and facet.interval is None:
        return _value_counts(column, facet, codes)
    if facet.interval is not None and not isinstance(column, DateColumn):
        raise InputError(
            f"`interval` must be of a field of dates. Got {facet.field!r:.60}, of kind {column.kind}: say what it is "
            f"where the data are read, such as meta='{facet.field:.60}:date'."
        )
    if not isinstance(column, KeyedColumn) or (facet.bins is not None and not isinstance(column, NumberColumn)):
        hint = " Use `interval` for dates." if isinstance(column, DateColumn) else ""
        raise InputError(f"Ranges must be of a field of numbers. Got {facet.field!r:.60}, of kind {column.kind}.{hint}")
    keys = column.keys[codes[(codes >= 0) & (codes < column.known)]]
    missing = len(codes) - len(keys)
    if facet.interval is not None:
        return FacetCounts(facet.field, _calendar(keys, facet.interval), missing, 0)
    if facet.bins is not None:
        return FacetCounts(facet.field, _ranges(keys, round_edges(keys, facet.bins)), missing, 0)
    spans = [column.span(_number(edge) if isinstance(column, NumberColumn) else edge) for edge in facet.edges or ()]
    if None in spans:
        raise InputError(f"`edges` must be {column.kind}s. Got {facet.edges!r:.80}.")
    edges = [span[0] for span in spans if span is not None]
    if edges != sorted(set(edges)):
        raise InputError(f"`edges` must ascend. Got {facet.edges!r:.80}.")
    counts = _counts_between(keys, np.array(edges, column.dtype))
    named = list(map(_number, facet.edges or ())) if isinstance(column, NumberColumn) else list(facet.edges or ())
    ranges = [FacetValue(named[at], count, named[at + 1]) for at, count in enumerate(counts)]
    return FacetCounts(facet.field, ranges, missing, len(keys) - sum(counts))


def without_field(condition: Condition, field: str, details: ItemMetadata) -> Condition | None:
    """Return a condition without those of its parts that ask for one field alone; None where nothing is left.

    A facet's counts are made under the rest, so that choosing a value does not hide the others.

    Examples
    --------
    >>> from vizsla import where
    >>> from vizsla.data.metadata_builder import DetailsCollector
    >>> from vizsla.core.catalog import Item
    >>> known = DetailsCollector.of([Item("f", "", metadata={"brand": "Ace", "price": 3})])
    >>> without_field(where("brand=Ace and price<5"), "brand", known)
    where('price < 5')
    """
    parts = condition.parts if type(condition) is And else (condition,)
    own = details.field(field)
    kept = tuple(part for part in parts if any(details.field(each.field) != own for each in part.comparisons()))
    if len(kept) == len(parts):
        return condition
    return joined("and", kept) if kept else None


def _value_counts(column: Column, facet: Facet, codes: Int32Array) -> FacetCounts:
    counted, counts = _counted(column.same_codes(codes), column.known)
    missing = len(codes) - int(counts.sum())
    names: Sequence[str] | None = None
    if isinstance(column, ListColumn):
        names, counted, counts = column.entry_counts(counted, counts)
    shown = _most_frequent(counted, counts, facet.size)
    places = counted[shown].tolist()
    if names is not None:
        values: list[Any] = [names[place] for place in places]
    elif isinstance(column, NumberColumn):
        values = [int(key) if key.is_integer() else key for key in column.keys[places].tolist()]
    elif isinstance(column, BooleanColumn):
        values = [place == 1 for place in places]
    else:
        values = column.texts.take(counted[shown].astype(np.int32))  # type: ignore[attr-defined]
    listed = list(map(FacetValue._make, zip(values, counts[shown].tolist(), repeat(None))))
    return FacetCounts(facet.field, listed, missing, len(counted) - len(shown))


def _counted(codes: Int32Array, known: int) -> tuple[Int64Array, Int64Array]:
    """Return the codes below `known` that occur, ascending, and how often each does."""
    if known > 16 * len(codes):  # nearly all counters would stay empty
        few, times = np.unique(codes[(codes >= 0) & (codes < known)], return_counts=True)
        return few.astype(np.int64), times.astype(np.int64)
    counted = codes if codes.min(initial=0) >= 0 else codes[codes >= 0]
    counts: Int64Array = np.bincount(counted, minlength=known)[:known]
    found = np.flatnonzero(counts)
    return found, counts[found]


def _most_frequent(codes: Int64Array, counts: Int64Array, size: int) -> Int64Array:
    """Return the places of the largest counts, equal ones in the order of their codes."""
    if len(counts) > size:
        least = np.partition(counts, len(counts) - size)[len(counts) - size]
        above, equal = np.flatnonzero(counts > least), np.flatnonzero(counts == least)
        places = np.concatenate([above, equal[: size - len(above)]])
    else:
        places = np.arange(len(counts))
    return places[np.lexsort((codes[places], -counts[places]))]


def _calendar(keys: Int64Array, interval: str) -> list[FacetValue]:
    moments = keys.astype("datetime64[us]")
    if interval == "week":
        days = moments.astype("datetime64[D]").astype(np.int64)
        units = (days + _MONDAY) // 7
    else:
        units = moments.astype(f"datetime64[{INTERVALS[interval]}]").astype(np.int64)
    found, counts = np.unique(units, return_counts=True)
    if len(found) and found[-1] - found[0] < MAX_BUCKETS:
        every = np.arange(found[0], found[-1] + 1)
        filled = np.zeros(len(every), np.int64)
        filled[found - found[0]] = counts
        found, counts = every, filled
    starts, ends = (_moments(units, interval) for units in (found, found + 1))
    return [FacetValue(*each) for each in zip(starts, counts.tolist(), ends, strict=True)]


def _moments(units: Int64Array, interval: str) -> list[str]:
    if interval == "week":
        moments = (units * 7 - _MONDAY).astype("datetime64[D]")
    else:
        moments = units.astype(f"datetime64[{INTERVALS[interval]}]")
    shown = moments.astype("datetime64[m]" if interval == "hour" else "datetime64[D]")
    texts: list[str] = np.datetime_as_string(shown).tolist()
    return texts


def round_edges(keys: Any, bins: int) -> list[float]:
    """Return the edges of at most `bins` ranges of one round width, 1, 2 or 5 times a power of ten, around numbers.

    Examples
    --------
    >>> round_edges(np.array([3.0, 47.0]), 5)
    [0, 10, 20, 30, 40, 50]
    """
    if not len(keys):
        return []
    low, high = float(keys.min()), float(keys.max())
    width = max((high - low) / bins, max(abs(low), abs(high)) * 1e-12, 1e-300)
    if low == high:  # one range around the number, of its magnitude
        width = max(10.0 ** math.floor(math.log10(abs(low))), 1e-300) if low else 1.0
    power = math.floor(math.log10(width))
    for exponent in (power, power + 1, power + 2):
        for step in (1, 2, 5):
            first = math.floor(low / (step * 10.0**exponent))
            edges = [_scaled(step * at, exponent) for at in range(first, first + bins + 1)]
            if edges[0] <= low and high < edges[-1] <= sys.float_info.max:
                last = next(at for at, edge in enumerate(edges) if edge > high)
                return edges[: last + 1]
    return [_plain(low), _plain(math.nextafter(high, math.inf))]


def _scaled(units: int, exponent: int) -> float:
    return units * 10**exponent if exponent >= 0 else _plain(units / 10**-exponent)


def _plain(number: float) -> float:
    return int(number) if float(number).is_integer() and abs(number) < 2**53 else number


def _number(edge: Any) -> Any:
    """Return an edge that is written as a number as one."""
    try:
        return _plain(float(edge)) if isinstance(edge, str) else edge
    except ValueError:
        return edge


def _ranges(keys: Any, edges: Sequence[float]) -> list[FacetValue]:
    counts = _counts_between(keys, np.array(edges, np.float64)) if len(edges) else []
    return [FacetValue(edges[at], count, edges[at + 1]) for at, count in enumerate(counts)]


def _counts_between(keys: Any, edges: Any) -> list[int]:
    places = np.searchsorted(edges, keys, side="right")
    counts: list[int] = np.bincount(places, minlength=len(edges) + 1)[1 : len(edges)].tolist()
    return counts
