"""Build item metadata from items, and rearrange it by item number."""

from __future__ import annotations

import json
import math
import re
import warnings
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.core.catalog import Catalog, Item, details_of
from vizsla.core.strings import Strings
from vizsla.core.validation import DatasetWarning, user_stacklevel
from vizsla.data import values
from vizsla.data.columns import (
    MOST_COLUMNS,
    BooleanColumn,
    Column,
    DateColumn,
    KeyedColumn,
    ListColumn,
    ListText,
    NumberColumn,
    TextColumn,
    table,
)
from vizsla.data.metadata import TEXT, CompressedTexts, ItemMetadata, TextPacker
from vizsla.data.values import (
    BOOLEAN,
    DATE,
    LARGEST,
    LIST,
    NUMBER,
    PLAIN_NUMBER,
    NumberText,
    boolean_of,
    date_span,
    json_array,
    number_text,
    text_of,
)
from vizsla.typing import Int32Array, Int64Array

SHARE = 0.95
"""A column is of a kind if at least this share of its values that are not empty parse as it."""
BATCH = 4096
_PLAIN_LINES = re.compile(f"{PLAIN_NUMBER.pattern}(?:\n{PLAIN_NUMBER.pattern})*")


def column_of(values: Sequence[Any], codes: Int32Array, kind: str | None = None) -> Column:
    """Return the column of some values.

    Parameters
    ----------
    values : sequence
        Texts, numbers, booleans and lists (as ListText); repeated ones are merged.
    codes : int32 array
        Each item's number among the values, -1 for none.
    kind : str, optional
        What the column is; told by the values unless given.

    Examples
    --------
    >>> prices = column_of(["7.50", "n/a"], np.array([0] * 19 + [1], np.int32))
    >>> prices.kind, prices.odd_count, prices.at(19), prices.missing().sum()
    ('number', 1, 'n/a', np.int64(1))
    """
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    if not len(values) and kind is None:
        return _texts_of_values(values, counts, codes, True)
    for make in (_booleans, _lists, _numbers, _dates) if kind is None else (_DECLARED.get(kind, _texts_of_values),):
        column = make(values, counts, codes, kind is not None)
        if column is not None:
            return column
    return _texts_of_values(values, counts, codes, True)


def _texts_of_values(values: Sequence[Any], counts: Int64Array, codes: Int32Array, declared: bool) -> Column:
    distinct, renamed = _ranked(_as_texts(values))
    return TextColumn(_renamed(renamed, codes), table(distinct))


def _lists(values: Sequence[Any], counts: Int64Array, codes: Int32Array, declared: bool) -> Column | None:
    if not declared and not _enough(values, counts, _is_list):
        return None
    distinct, renamed = _ranked(_as_texts(values))
    return ListColumn(_renamed(renamed, codes), table(distinct))


def _is_list(value: Any) -> bool:
    return value.__class__ is ListText or (value.__class__ is str and json_array(value) is not None)


def _booleans(values: Sequence[Any], counts: Int64Array, codes: Int32Array, declared: bool) -> Column | None:
    def read(value: Any) -> bool | None:
        return value if isinstance(value, bool) else boolean_of(text_of(value), words_only=not declared)

    if not declared and not _enough(values, counts, lambda value: read(value) is not None):
        return None
    found = [read(value) for value in values]
    odd, renamed = _ranked([text_of(value) for value, flag in zip(values, found, strict=True) if flag is None])
    places = iter((renamed + 2).tolist())
    own = [next(places) if flag is None else int(flag) for flag in found]
    return BooleanColumn(_renamed(np.array(own, np.int32), codes), table(odd))


def _dates(values: Sequence[Any], counts: Int64Array, codes: Int32Array, declared: bool) -> Column | None:
    if not declared and not _enough(values, counts, lambda value: _date(value, whole=True) is not None):
        return None
    spans = [_date(value, whole=False) for value in values]
    known = np.array([span is not None for span in spans], np.bool_)
    return _keyed(DateColumn, np.array([span[0] if span else 0 for span in spans], np.int64), known, values, codes)


def _keyed(
    kind: type[KeyedColumn], keys: NDArray[Any], known: NDArray[np.bool_], values: Sequence[Any], codes: Int32Array
) -> Column:
    """Return a column of values in the order of their keys; those without a key come last, in that of their texts."""
    places = np.flatnonzero(known)
    ordered = places[np.argsort(keys[places], kind="stable")]
    odd, renamed = _ranked([text_of(values[at]) for at in np.flatnonzero(~known).tolist()])
    own = np.empty(len(values), np.int32)
    own[ordered] = np.arange(len(ordered))
    own[~known] = renamed + len(ordered)
    texts = list(map(_as_texts(values).__getitem__, ordered.tolist()))
    return kind(_renamed(own, codes), keys[ordered], table(texts + odd))


def _date(value: Any, *, whole: bool) -> tuple[int, int] | None:
    """Return the time of a date; a `whole` one has a day, and 2024 or 2024-05 is none."""
    if value.__class__ is str:
        return date_span(value, reduced=not whole)
    return None if whole or value.__class__ is not int else date_span(str(value))


def _numbers(values: Sequence[Any], counts: Int64Array, codes: Int32Array, declared: bool) -> Column | None:
    numbers = _as_numbers(values, counts, declared)
    if numbers is None:
        return None
    return _keyed(NumberColumn, numbers, ~np.isnan(numbers), values, codes)


def _as_numbers(values: Sequence[Any], counts: Int64Array, declared: bool) -> NDArray[np.float64] | None:
    """Return the values as numbers, NaN where one is none; None if too few are, or zeros lead."""
    numbers = np.full(len(values), np.nan)
    allowed = counts.sum() * (1 - SHARE) + 1e-9
    failed, readings = 0, {}
    for start in range(0, len(values), BATCH):
        batch = values[start : start + BATCH]
        if _are_plain(batch):  # many at a time: there may be millions
            numbers[start : start + BATCH] = list(map(float, batch))
            continue
        for at, value in enumerate(batch, start):
            if value.__class__ is str and PLAIN_NUMBER.fullmatch(value) is None:
                read = number_text(value)
                if read is not None and not declared and read.padded:
                    return None
                if read is not None:
                    readings[at] = read
                else:
                    failed += counts[at]
            elif value.__class__ is str or _is_number(value):
                numbers[at] = float(value)
            else:
                failed += counts[at]
            if failed > allowed and not declared:
                return None
    if readings:
        _settle(numbers, values, counts, readings)
    return numbers if declared or counts[np.isnan(numbers)].sum() <= allowed else None


def _settle(
    numbers: NDArray[np.float64], values: Sequence[Any], counts: Int64Array, readings: dict[int, NumberText]
) -> None:
    """Fill in numbers with separators: where a comma or a dot may mean two things, the other values decide."""
    if any(read.dot != read.comma for read in readings.values()):
        plain = [at for at in np.flatnonzero(~np.isnan(numbers)).tolist() if isinstance(values[at], str)]
        readings |= {at: read for at in plain if (read := number_text(values[at])) is not None}
    dots = sum(counts[at] for at, read in readings.items() if read.comma is None)
    commas = sum(counts[at] for at, read in readings.items() if read.dot is None)
    point = "." if dots and dots >= SHARE * (dots + commas) else "," if commas >= SHARE * (dots + commas) > 0 else ""
    for at, read in readings.items():
        if not read.is_ambiguous:
            numbers[at] = read.comma if read.dot is None else read.dot
        elif point:
            numbers[at] = read.dot if point == "." else read.comma
        elif "," in values[at]:
            numbers[at] = np.nan  # 1.999 without a hint is what it is in every program; 1,999 is nothing certain


def _are_plain(batch: Sequence[Any]) -> bool:
    if set(map(type, batch)) != {str}:
        return False
    text = "\n".join(batch)
    return text.count("\n") < len(batch) and _PLAIN_LINES.fullmatch(text) is not None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


def _enough(values: Sequence[Any], counts: Int64Array, parses: Callable[[Any], bool]) -> bool:
    """Return whether enough values parse; looks no further once too many have not."""
    left = counts.sum() * (1 - SHARE) + 1e-9
    for at, value in enumerate(values):
        if not parses(value):
            left -= counts[at]
            if left < 0:
                return False
    return True


def _as_texts(values: Sequence[Any]) -> Sequence[str]:
    return values if set(map(type, values)) <= {str} else list(map(text_of, values))


def _ranked(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int32]]:
    """Return the distinct texts in the order of their characters, and the place of each text among them."""
    distinct = sorted(set(texts))
    places = dict(zip(distinct, range(len(distinct)), strict=True))
    return distinct, np.fromiter(map(places.__getitem__, texts), np.int32, len(texts))


def _renamed(own: NDArray[np.int32], codes: Int32Array) -> Int32Array:
    return np.append(own, np.int32(-1)).astype(np.int32)[codes]


_DECLARED = {BOOLEAN: _booleans, LIST: _lists, NUMBER: _numbers, DATE: _dates}


TITLE = "title"
LONGEST_LIST = 100
"""Entries of a list that is kept without being asked for by name: a longer one is a vector rather than tags."""


class DetailsCollector:
    """Takes items one by one and becomes their Details.

    Parameters
    ----------
    named : bool
        Whether the user named the fields; otherwise only plain values are kept: texts, numbers, booleans, dates, and
        short lists of them.
    metadata : bool
        Whether metadata is kept.
    keep_texts : bool
        Whether texts are kept.
    kinds : mapping of field to kind, optional
        What fields are declared to be; the kind of any other is told by its values.
    """

    def __init__(
        self,
        *,
        named: bool = False,
        metadata: bool = True,
        keep_texts: bool = False,
        kinds: Mapping[str, str] | None = None,
    ):
        self._named, self._metadata, self._kinds = named, metadata, dict(kinds or {})
        self._columns: dict[str, _Codes] = {}
        self._packer = TextPacker() if keep_texts else None
        self._count = 0
        self._waiting: list[Item] = []

    @classmethod
    def of(cls, items: Iterable[Item], *, keep_texts: bool = False) -> ItemMetadata | None:
        """Return the details of items."""
        collector = cls(keep_texts=keep_texts)
        for item in items:
            collector.add(item)
        return collector.details()

    def add(self, item: Item) -> None:
        """Note an item."""
        self.add_all([item])

    def add_all(self, items: Sequence[Item]) -> None:
        """Note several items."""
        self._waiting += items
        if len(self._waiting) >= BATCH:
            self._note()

    def details(self) -> ItemMetadata | None:
        """Return what came together; None if that is nothing."""
        self._note()
        if not self._columns and self._packer is None:
            return None
        columns = {name: codes.column(self._count, self._kind(name)) for name, codes in self._columns.items()}
        return ItemMetadata(columns, self._count, None if self._packer is None else self._packer.packed())

    def _kind(self, name: str) -> str | None:
        """Return the kind that a field was declared to be, by its name in any case; a title is a text."""
        if name in self._kinds:
            return self._kinds[name]
        alike = [kind for field, kind in self._kinds.items() if field.lower() == name.lower()]
        return alike[0] if alike else values.TEXT if name == TITLE else None

    def _note(self) -> None:
        """Note the items that wait, field by field: several times as fast as item by item."""
        items, self._waiting = self._waiting, []
        if self._metadata:
            columns = _columns([item.metadata for item in items])
            if TITLE not in columns and any(titles := [item.title for item in items]):
                self._put(TITLE, titles)
            for name, values in columns.items():
                self._put(name, values)
        if self._packer is not None:
            for item in items:
                self._packer.add(item.default_text())
        self._count += len(items)

    def _put(self, name: Any, given: list[Any]) -> None:
        if not (texts := set(map(type, given)) == {str}):
            given = [self._plain(value) for value in given]
        known = self._columns.get(name)
        if known is None:
            if (
                not isinstance(name, str)
                or len(self._columns) >= MOST_COLUMNS
                or name == TEXT
                or not any(value not in (None, "") for value in given)
            ):
                return  # nothing to keep, a name that is no text, or a document that makes up names as it goes
            known = self._columns[name] = _Codes()
        known.put(self._count, given, texts=texts)

    def _plain(self, value: Any) -> Any:
        """Return a value as it is kept; what is not plain as JSON, if it was asked for by name, and None otherwise."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, str):
            return value if value.__class__ is str else str(value)
        if value is None or isinstance(value, bool | int):
            return value
        if isinstance(value, float):
            return None if math.isnan(value) else value
        if isinstance(value, date):
            return value.isoformat()
        if isinstance(value, list | tuple | set | frozenset | np.ndarray):
            return self._list(list(value))
        return json.dumps(value, ensure_ascii=False, default=str) if self._named else None

    def _list(self, value: list[Any]) -> ListText | None:
        entries = [entry.item() if isinstance(entry, np.generic) else entry for entry in value]
        plain = all(isinstance(entry, str | int | float | date) for entry in entries)
        if not entries or (not self._named and not (plain and len(entries) <= LONGEST_LIST)):
            return None
        return ListText(json.dumps(entries, ensure_ascii=False, default=str))


class _Codes:
    """The values of one field: each distinct one once, unless nearly all are distinct."""

    def __init__(self) -> None:
        self._index: dict[Any, int] | None = {}
        self._values: list[Any] = []
        self._codes = array("i")

    def put(self, number: int, given: list[Any], *, texts: bool) -> None:
        """Note the values of the items from `number` on; None and the empty text are none. All may be `texts`."""
        if len(self._codes) < number:
            self._codes.extend([-1] * (number - len(self._codes)))
        # 1, 1.0 and True are one key of a dict, and three values.
        keys = given if texts else [_key(value) for value in given]
        if self._index is None:
            self._append(keys)
        else:
            self._number(keys, self._index)

    def column(self, count: int, kind: str | None) -> Column:
        """Return the values of so many items."""
        self._codes.extend([-1] * (count - len(self._codes)))
        keys = self._values if self._index is None else list(self._index)
        given = [key[1] if key.__class__ is tuple else key for key in keys]
        return column_of(given, np.array(self._codes, np.int32), kind)

    def _number(self, keys: list[Any], index: dict[Any, int]) -> None:
        # Most values are known: a look into the table for all of them, and another once the new ones are in it.
        new = set(keys).difference(index)
        gaps = None in new or "" in new
        if new:
            for key in keys:
                if key is not None and key != "":
                    index.setdefault(key, len(index))
        self._codes.extend([index.get(key, -1) for key in keys] if gaps else list(map(index.__getitem__, keys)))
        if len(self._codes) >= BATCH and 2 * len(index) > len(self._codes):
            self._values, self._index = list(index), None  # a table of what is nearly always new only costs

    def _append(self, keys: list[Any]) -> None:
        new = [key for key in keys if key is not None and key != ""] if None in keys or "" in keys else keys
        start = len(self._values)
        self._values += new
        if len(new) == len(keys):
            self._codes.extend(range(start, start + len(new)))
        else:
            numbers = iter(range(start, start + len(new)))
            self._codes.extend([-1 if key is None or key == "" else next(numbers) for key in keys])


def _key(value: Any) -> Any:
    return value if value is None or value.__class__ is str else (value.__class__, value)


def _columns(known: list[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the values of each field that any item has, None where one lacks it."""
    first = list(known[0]) if known else []
    if set(map(len, known)) == {len(first)}:  # a table, if all have the same fields
        try:
            return {name: list(map(itemgetter(name), known)) for name in first}
        except KeyError:
            pass
    names = dict.fromkeys(name for fields in known for name in fields)
    return {name: [fields.get(name) for fields in known] for name in names}


def selected(details: ItemMetadata, numbers: NDArray[np.int64]) -> ItemMetadata:
    """Return the details of these items, in this order."""
    columns = {name: column.take(numbers) for name, column in details.columns.items()}
    texts = None if details.texts is None else _texts([details], [numbers])
    return ItemMetadata(columns, len(numbers), texts)


def described(ids: Strings, sources: Sequence[Strings], *, settled: bool = False) -> Strings:
    """Return ids with what some catalogs know of them: for each field, what the first that has a value says.

    Parameters
    ----------
    ids : Strings
        The items.
    sources : sequence of Strings
        The catalogs; those that know only ids say nothing.
    settled : bool
        Whether a field keeps the kind that it has in the first source, as when items are added to it: what does not
        parse there is missing, and a warning counts it. Otherwise, where kinds differ, all values decide anew.

    Examples
    --------
    >>> from vizsla.data.dataset import Dataset
    >>> fruit = Dataset.of([{"id": "f", "text": "fig", "price": 3}, {"id": "p", "text": "pear"}]).item_ids
    >>> details_of(described(Strings.of(["new", "f"]), [fruit])).of(1)
    {'price': 3}
    """
    known = [(source, details) for source in sources if (details := details_of(source)) is not None]
    if not known:
        return ids
    if len(known) == 1 and known[0][0] == ids:
        return Catalog(ids, known[0][1])
    numbers = [source.find_all(ids) for source, _ in known]
    parts = [details for _, details in known]
    columns: dict[str, Column] = {}
    for name in dict.fromkeys(name for details in parts for name in details.columns):
        held = [(part.columns[name], at) for part, at in zip(parts, numbers, strict=True) if name in part.columns]
        columns[name] = _joined(name, [column.take(at) for column, at in held], settled=settled)
    # A field that none of these items has is dropped, so that removing added items restores what was there before.
    columns = {name: column for name, column in columns.items() if (column.codes >= 0).any()}
    texts = _texts(parts, numbers) if all(details.texts is not None for details in parts) else None
    return Catalog(ids, ItemMetadata(columns, len(ids), texts)) if columns or texts is not None else ids


def _joined(name: str, columns: list[Column], *, settled: bool) -> Column:
    """Return one column of several over the same items."""
    if len(columns) == 1:
        return columns[0]
    codes, values = columns[0].codes.copy(), columns[0].raw()
    for column in columns[1:]:
        new = (codes < 0) & (column.codes >= 0)
        codes[new] = column.codes[new] + len(values)
        values += column.raw()
    kinds = {column.kind for column in columns}
    kind = columns[0].kind if settled or len(kinds) == 1 else None
    joined = column_of(values, codes, kind)
    lost = joined.odd_count - sum(column.odd_count for column in columns)
    if settled and lost > 0:
        said = f"{lost} new values of {name!r} are no {joined.kind}, such as {joined.odd[0]!r:.60}"
        warnings.warn(f"{said}: they count as missing", DatasetWarning, stacklevel=user_stacklevel())
    return joined


def _texts(parts: Sequence[ItemMetadata], numbers: Sequence[Int64Array]) -> CompressedTexts:
    packer = TextPacker()
    for row in zip(*(at.tolist() for at in numbers), strict=True):
        found = (part.text(number) for part, number in zip(parts, row, strict=True) if number >= 0)
        packer.add(next(found, None) or "")
    return packer.packed()
