"""Build item metadata from items: the kind of each column is declared, or told by its values."""

from __future__ import annotations

import json
import math
import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.core.catalog import Item
from vizsla.core.strings import Strings
from vizsla.data import values
from vizsla.data.columns import (
    DECIMAL,
    GIVEN,
    WRITTEN,
    BooleanColumn,
    Column,
    DateColumn,
    DecimalText,
    ListColumn,
    ListText,
    NumberColumn,
    TextColumn,
    ranked,
    renamed,
    table,
)
from vizsla.data.metadata import MAX_COLUMNS, TEXT_FIELD, ItemMetadata, TextPacker
from vizsla.data.values import (
    BOOLEAN,
    DATE,
    LIST,
    MAX_EXACT_WHOLE,
    NUMBER,
    PLAIN_NUMBER,
    NumberStyle,
    NumberText,
    boolean_of,
    date_span,
    json_array,
    number_text,
    text_of,
)
from vizsla.typing import Int32Array, Int64Array

MIN_PARSED_SHARE = 0.95
"""A column is of a kind if at least this share of its values that are not empty parse as it."""
VALUES_PER_BATCH = 4096
_PLAIN_LINES = re.compile(f"{PLAIN_NUMBER.pattern}(?:\n{PLAIN_NUMBER.pattern})*")


def column_of(
    values: Sequence[Any],
    codes: Int32Array,
    kind: str | None = None,
    *,
    declared: bool = True,
    style: NumberStyle | None = None,
) -> Column:
    """Return the column of some values.

    Parameters
    ----------
    values : sequence
        Texts, numbers, booleans, lists (as ListText) and decimal numbers (as DecimalText); repeated ones are merged.
    codes : int32 array
        Each item's number among the values, -1 for none.
    kind : str, optional
        The kind of the column; inferred from the values unless given.
    declared : bool
        Whether the user gave the kind. If not, a leading zero makes no number though the column has numbers.
    style : NumberStyle, optional
        How numbers are read, as in the column that these values are added to; told by the values unless given.

    Examples
    --------
    >>> prices = column_of(["7.50", "n/a"], np.array([0] * 19 + [1], np.int32))
    >>> prices.kind, prices.odd_count, prices.at(19), prices.missing().sum()
    ('number', 1, 'n/a', np.int64(1))
    """
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    column: Column | None = None
    if kind == NUMBER and style is not None:
        column = _styled(values, codes, style, declared)
    elif kind is not None:
        column = _DECLARED.get(kind, _texts_of_values)(values, counts, codes, True)
    elif len(values):
        made = (make(values, counts, codes, False) for make in (_booleans, _lists, _numbers, _dates))
        column = next((found for found in made if found is not None), None)
    if column is None:
        column = _texts_of_values(values, counts, codes, True)
    column.declared = kind is not None and declared
    return column


def _texts_of_values(values: Sequence[Any], counts: Int64Array, codes: Int32Array, declared: bool) -> Column:
    distinct, places = ranked(_as_texts(values))
    return TextColumn(renamed(places, codes), table(distinct))


def _lists(values: Sequence[Any], counts: Int64Array, codes: Int32Array, declared: bool) -> Column | None:
    if not declared and not _enough(values, counts, _is_list):
        return None
    distinct, places = ranked(_as_texts(values))
    return ListColumn(renamed(places, codes), table(distinct))


def _is_list(value: Any) -> bool:
    return value.__class__ is ListText or (value.__class__ is str and json_array(value) is not None)


def _booleans(values: Sequence[Any], counts: Int64Array, codes: Int32Array, declared: bool) -> Column | None:
    def read(value: Any) -> bool | None:
        return value if isinstance(value, bool) else boolean_of(text_of(value), words_only=not declared)

    if not declared and not _enough(values, counts, lambda value: read(value) is not None):
        return None
    found = [read(value) for value in values]
    odd, places = ranked([text_of(value) for value, flag in zip(values, found, strict=True) if flag is None])
    given = iter((places + 2).tolist())
    own = [next(given) if flag is None else int(flag) for flag in found]
    return BooleanColumn(renamed(np.array(own, np.int32), codes), table(odd))


def _dates(values: Sequence[Any], counts: Int64Array, codes: Int32Array, declared: bool) -> Column | None:
    if not declared and not _enough(values, counts, lambda value: _date(value, whole=True) is not None):
        return None
    spans = [_date(value, whole=False) for value in values]
    known = np.array([span is not None for span in spans], np.bool_)
    keys = np.array([span[0] if span else 0 for span in spans], np.int64)
    own, ordered, texts = _keyed(keys, known, values, codes)
    return DateColumn(own, keys[ordered], texts)


def _keyed(
    keys: NDArray[Any], known: NDArray[np.bool_], values: Sequence[Any], codes: Int32Array
) -> tuple[Int32Array, Int64Array, Strings]:
    """Return codes, the places of the values in the order of their keys, and the texts.

    Values without a key come last, in the order of their texts.
    """
    at = np.flatnonzero(known)
    ordered = at[np.argsort(keys[at], kind="stable")]
    odd, places = ranked([text_of(values[at]) for at in np.flatnonzero(~known).tolist()])
    own = np.empty(len(values), np.int32)
    own[ordered] = np.arange(len(ordered))
    own[~known] = places + len(ordered)
    texts = list(map(_as_texts(values).__getitem__, ordered.tolist()))
    return renamed(own, codes), ordered, table(texts + odd)


def _date(value: Any, *, whole: bool) -> tuple[int, int] | None:
    """Return the time of a date; a `whole` one has a day, and 2024 or 2024-05 is none."""
    if value.__class__ is str:
        return date_span(value, reduced=not whole)
    return None if whole or value.__class__ is not int else date_span(str(value))


def _numbers(values: Sequence[Any], counts: Int64Array, codes: Int32Array, declared: bool) -> Column | None:
    read = _as_numbers(values, counts, declared)
    return None if read is None else _number_column(read[0], read[1], values, codes)


def _styled(values: Sequence[Any], codes: Int32Array, style: NumberStyle, declared: bool) -> Column:
    """Return a column of numbers whose texts are read in a given style."""

    def read(value: Any) -> float | None:
        if value.__class__ is str:
            return style.read(value, declared=declared)
        return _given(value)

    found = [read(value) for value in values]
    numbers = np.array([math.nan if number is None else number for number in found], np.float64)
    return _number_column(numbers, style, values, codes)


def _number_column(
    numbers: NDArray[np.float64], style: NumberStyle, values: Sequence[Any], codes: Int32Array
) -> NumberColumn:
    own, ordered, texts = _keyed(numbers, ~np.isnan(numbers), values, codes)
    forms = np.full(len(values), WRITTEN, np.uint8)
    if set(map(type, values)) != {str}:
        forms[:] = [_FORMS.get(value.__class__, GIVEN) for value in values]
    return NumberColumn(own, numbers[ordered], texts, forms[ordered], style)


_FORMS = {str: WRITTEN, DecimalText: DECIMAL}


def _given(value: Any) -> float | None:
    """Return what was given as a number; None for anything else."""
    if value.__class__ is DecimalText:
        number = float(value)
        return number if abs(number) <= MAX_EXACT_WHOLE else None
    return float(value) if _is_number(value) else None


def _as_numbers(
    values: Sequence[Any], counts: Int64Array, declared: bool
) -> tuple[NDArray[np.float64], NumberStyle] | None:
    """Return the values as numbers, NaN where one is none, and their style; None if too few are, or zeros lead."""
    numbers = np.full(len(values), np.nan)
    allowed = counts.sum() * (1 - MIN_PARSED_SHARE) + 1e-9
    failed, readings = 0, {}
    for start in range(0, len(values), VALUES_PER_BATCH):
        batch = values[start : start + VALUES_PER_BATCH]
        if _are_plain(batch):  # many at a time: there may be millions
            numbers[start : start + VALUES_PER_BATCH] = list(map(float, batch))
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
            elif value.__class__ is str:
                numbers[at] = float(value)
            elif (number := _given(value)) is not None:
                numbers[at] = number
            else:
                failed += counts[at]
            if failed > allowed and not declared:
                return None
    style = _spend_budget_first(numbers, values, counts, readings, declared)
    return (numbers, style) if declared or counts[np.isnan(numbers)].sum() <= allowed else None


def _spend_budget_first(
    numbers: NDArray[np.float64],
    values: Sequence[Any],
    counts: Int64Array,
    readings: dict[int, NumberText],
    declared: bool,
) -> NumberStyle:
    """Fill in numbers with separators: where a comma or a dot may mean two things, the other values decide.

    Returns how they decided: it holds for all values that are added later.
    """
    if all(read.dot == read.comma for read in readings.values()):
        plain = (value for value in values if value.__class__ is str and "." in value)
        point = "." if any((read := number_text(text)) is not None and read.comma is None for text in plain) else ""
    else:
        written = [at for at in np.flatnonzero(~np.isnan(numbers)).tolist() if values[at].__class__ is str]
        readings |= {at: read for at in written if (read := number_text(values[at])) is not None}
        dots = sum(counts[at] for at, read in readings.items() if read.comma is None)
        commas = sum(counts[at] for at, read in readings.items() if read.dot is None and not read.doubtful)
        every = MIN_PARSED_SHARE * (dots + commas)
        point = "." if dots and dots >= every else "," if commas >= every > 0 else ""
    style = NumberStyle(point, any(read.grouped == " " and not read.doubtful for read in readings.values()))
    for at, read in readings.items():
        number = style.value(read, values[at], declared=declared)
        numbers[at] = np.nan if number is None else number
    return style


def _are_plain(batch: Sequence[Any]) -> bool:
    if set(map(type, batch)) != {str}:
        return False
    text = "\n".join(batch)
    return text.count("\n") < len(batch) and _PLAIN_LINES.fullmatch(text) is not None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_EXACT_WHOLE


def _enough(values: Sequence[Any], counts: Int64Array, parses: Callable[[Any], bool]) -> bool:
    """Return whether enough values parse; looks no further once too many have not."""
    left = counts.sum() * (1 - MIN_PARSED_SHARE) + 1e-9
    for at, value in enumerate(values):
        if not parses(value):
            left -= counts[at]
            if left < 0:
                return False
    return True


def _as_texts(values: Sequence[Any]) -> Sequence[str]:
    return values if set(map(type, values)) <= {str} else list(map(text_of, values))


_DECLARED = {BOOLEAN: _booleans, LIST: _lists, NUMBER: _numbers, DATE: _dates}


TITLE_FIELD = "title"
MAX_LIST_VALUES = 100
"""Entries of a list that is kept without being asked for by name: a longer one is a vector rather than tags."""


class DetailsCollector:
    """Takes items one by one and becomes their Details.

    Parameters
    ----------
    named : bool
        Whether the user named the fields; otherwise only plain values are kept: texts, numbers, booleans, dates, other
        single values as texts, and short lists of them.
    metadata : bool
        Whether metadata is kept.
    keep_texts : bool
        Whether texts are kept.
    kinds : mapping of field to kind, optional
        Declared kinds of fields; other kinds are inferred from the values.
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
        self.left_out: dict[Any, tuple[int, str]] = {}
        """For each field the number of values that are not kept, and the type of the last one."""

    @classmethod
    def of(cls, items: Iterable[Item], *, keep_texts: bool = False) -> ItemMetadata | None:
        """Return the details of items."""
        collector = cls(keep_texts=keep_texts)
        for item in items:
            collector.add(item)
        return collector.details()

    def add(self, item: Item) -> None:
        """Note an item; it waits until there are more."""
        self._waiting.append(item)
        if len(self._waiting) >= VALUES_PER_BATCH:
            self.add_all([])

    def add_all(self, items: Sequence[Item]) -> None:
        """Note several items at once: none waits, since many long texts would fill the memory."""
        waiting, self._waiting = self._waiting, []
        if waiting or items:
            self._note([*waiting, *items])

    def details(self) -> ItemMetadata | None:
        """Return what came together; None if that is nothing."""
        self.add_all([])
        if not self._columns and self._packer is None:
            return None
        columns = {name: codes.column(self._count, self._kind(name)) for name, codes in self._columns.items()}
        return ItemMetadata(columns, self._count, None if self._packer is None else self._packer.packed())

    def _kind(self, name: str) -> str | None:
        """Return the kind that a field was declared to be, by its name in any case; a title is a text."""
        if name in self._kinds:
            return self._kinds[name]
        alike = [kind for field, kind in self._kinds.items() if field.lower() == name.lower()]
        return alike[0] if alike else values.TEXT if name == TITLE_FIELD else None

    def _note(self, items: list[Item]) -> None:
        """Note items field by field: several times as fast as item by item."""
        if self._metadata:
            columns = _columns([item.metadata for item in items])
            if TITLE_FIELD not in columns and any(titles := [item.title for item in items]):
                self._put(TITLE_FIELD, titles)
            for name, values in columns.items():
                self._put(name, values)
        if self._packer is not None:
            for item in items:
                self._packer.add(item.default_text())
        self._count += len(items)

    def _put(self, name: Any, given: list[Any]) -> None:
        if not (texts := set(map(type, given)) == {str}):
            given = [self.plain(value, name) for value in given]
        known = self._columns.get(name)
        if known is None:
            if (
                not isinstance(name, str)
                or len(self._columns) >= MAX_COLUMNS
                or name == TEXT_FIELD
                or not any(value not in (None, "") for value in given)
            ):
                return  # nothing to keep, a name that is no text, or a document that makes up names as it goes
            known = self._columns[name] = _Codes()
        known.put(self._count, given, texts=texts)

    def plain(self, value: Any, name: Any) -> Any:
        """Return a value as it is kept: None for a missing one, and for what is left out, which is counted."""
        plain = _scalar(value)
        if plain is not _NOT_PLAIN:
            return plain
        if isinstance(value, list | tuple | set | frozenset | np.ndarray):
            entries = [_scalar(entry) for entry in value]
            if isinstance(value, set | frozenset):
                entries.sort(key=lambda entry: (isinstance(entry, str), text_of(entry)))  # the order of hashes varies
            entries = [entry for entry in entries if entry is not None]
            if not entries:
                return None
            if _NOT_PLAIN not in entries and (self._named or len(entries) <= MAX_LIST_VALUES):
                return ListText(json.dumps(entries, ensure_ascii=False))
        if self._named:
            try:
                return _as_json(value)
            except (TypeError, ValueError, RecursionError):
                pass
        count, _ = self.left_out.get(name, (0, ""))
        self.left_out[name] = count + 1, type(value).__name__
        return None


_NOT_PLAIN: Any = object()


def _scalar(value: Any) -> Any:
    """Return a text, a number or a boolean for a single value, None for a missing one, and else `_NOT_PLAIN`.

    A Decimal is a number that keeps its digits, a date is written as ISO 8601, and a UUID, a time or another thing that
    can be written is a text.
    """
    if isinstance(value, np.generic):
        value = str(value) if isinstance(value, np.datetime64 | np.timedelta64) else value.item()
        if value == "NaT":
            return None
    if isinstance(value, str):
        return value if value.__class__ is str else str(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, Decimal):
        return DecimalText(value) if value.is_finite() else None
    if isinstance(value, date | time):
        return None if value != value else value.isoformat()  # pandas' NaT is not itself
    if isinstance(value, bytes | bytearray | memoryview | Mapping | Iterable):
        return _NOT_PLAIN
    if type(value).__name__ == "NAType":  # of pandas
        return None
    kind: Any = type(value)
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
        return _NOT_PLAIN  # all that it would say is where it lies in memory
    return str(value)


def _as_json(value: Any) -> str:
    """Return a value as JSON, as a list if it is one; what JSON cannot hold raises."""
    if isinstance(value, set | frozenset):
        value = sorted(value, key=repr)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    text = json.dumps(value, ensure_ascii=False, default=_scalar_or_raise)
    return ListText(text) if isinstance(value, list | tuple) else text


def _scalar_or_raise(value: Any) -> Any:
    plain = _scalar(value)
    if plain is _NOT_PLAIN:
        raise TypeError(f"{type(value).__name__} cannot be written")
    return plain


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
        """Return the values of a number of items."""
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
        if len(self._codes) >= VALUES_PER_BATCH and 2 * len(index) > len(self._codes):
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
