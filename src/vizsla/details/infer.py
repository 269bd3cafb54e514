"""Make a typed column of the values that were read: its kind is declared, or told by nearly all of the values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.details.column import (
    BooleanColumn,
    Codes,
    Column,
    DateColumn,
    KeyedColumn,
    ListColumn,
    ListText,
    NumberColumn,
    TextColumn,
    table,
)
from vizsla.details.values import (
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

SHARE = 0.95
"""A column is of a kind if at least this share of its values that are not empty parse as it."""
BATCH = 4096
_PLAIN_LINES = re.compile(f"{PLAIN_NUMBER.pattern}(?:\n{PLAIN_NUMBER.pattern})*")
Counts = NDArray[np.int64]


def column_of(values: Sequence[Any], codes: Codes, kind: str | None = None) -> Column:
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
        return _texts(values, counts, codes, True)
    for make in (_booleans, _lists, _numbers, _dates) if kind is None else (_DECLARED.get(kind, _texts),):
        column = make(values, counts, codes, kind is not None)
        if column is not None:
            return column
    return _texts(values, counts, codes, True)


def _texts(values: Sequence[Any], counts: Counts, codes: Codes, declared: bool) -> Column:
    distinct, renamed = _ranked(_as_texts(values))
    return TextColumn(_renamed(renamed, codes), table(distinct))


def _lists(values: Sequence[Any], counts: Counts, codes: Codes, declared: bool) -> Column | None:
    if not declared and not _enough(values, counts, _is_list):
        return None
    distinct, renamed = _ranked(_as_texts(values))
    return ListColumn(_renamed(renamed, codes), table(distinct))


def _is_list(value: Any) -> bool:
    return value.__class__ is ListText or (value.__class__ is str and json_array(value) is not None)


def _booleans(values: Sequence[Any], counts: Counts, codes: Codes, declared: bool) -> Column | None:
    def read(value: Any) -> bool | None:
        return value if isinstance(value, bool) else boolean_of(text_of(value), words_only=not declared)

    if not declared and not _enough(values, counts, lambda value: read(value) is not None):
        return None
    found = [read(value) for value in values]
    odd, renamed = _ranked([text_of(value) for value, flag in zip(values, found, strict=True) if flag is None])
    places = iter((renamed + 2).tolist())
    own = [next(places) if flag is None else int(flag) for flag in found]
    return BooleanColumn(_renamed(np.array(own, np.int32), codes), table(odd))


def _dates(values: Sequence[Any], counts: Counts, codes: Codes, declared: bool) -> Column | None:
    if not declared and not _enough(values, counts, lambda value: _date(value, whole=True) is not None):
        return None
    spans = [_date(value, whole=False) for value in values]
    known = np.array([span is not None for span in spans], np.bool_)
    return _keyed(DateColumn, np.array([span[0] if span else 0 for span in spans], np.int64), known, values, codes)


def _keyed(
    kind: type[KeyedColumn], keys: NDArray[Any], known: NDArray[np.bool_], values: Sequence[Any], codes: Codes
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


def _numbers(values: Sequence[Any], counts: Counts, codes: Codes, declared: bool) -> Column | None:
    numbers = _as_numbers(values, counts, declared)
    if numbers is None:
        return None
    return _keyed(NumberColumn, numbers, ~np.isnan(numbers), values, codes)


def _as_numbers(values: Sequence[Any], counts: Counts, declared: bool) -> NDArray[np.float64] | None:
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
    numbers: NDArray[np.float64], values: Sequence[Any], counts: Counts, readings: dict[int, NumberText]
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


def _enough(values: Sequence[Any], counts: Counts, parses: Callable[[Any], bool]) -> bool:
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


def _renamed(own: NDArray[np.int32], codes: Codes) -> Codes:
    return np.append(own, np.int32(-1)).astype(np.int32)[codes]


_DECLARED = {BOOLEAN: _booleans, LIST: _lists, NUMBER: _numbers, DATE: _dates}
