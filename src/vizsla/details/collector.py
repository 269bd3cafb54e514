"""Collects what is known of items while they are read."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np

from vizsla.details.column import Column, FlagColumn, NumberColumn, TextColumn
from vizsla.details.details import MOST_COLUMNS, TEXT, Details
from vizsla.details.kept_texts import TextPacker
from vizsla.errors import DataError
from vizsla.item import Item
from vizsla.strings import Strings

TITLE = "title"
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]+)?")
"""What is written so is a number in every column; 007 is none, because zeros that lead mean something."""
LARGEST = 2**53


class DetailsCollector:
    """Takes items one by one and becomes their Details.

    Parameters
    ----------
    named : bool
        Whether the user named the fields; otherwise only plain values are kept: texts, numbers, True and False.
    keep_texts : bool
        Whether texts are kept.
    """

    def __init__(self, *, named: bool = False, metadata: bool = True, keep_texts: bool = False):
        self._named, self._metadata = named, metadata
        self._columns: dict[str, _Codes] = {}
        self._packer = TextPacker() if keep_texts else None
        self._count = 0

    @classmethod
    def of(cls, items: Iterable[Item], *, keep_texts: bool = False) -> Details | None:
        """Return the details of items."""
        collector = cls(keep_texts=keep_texts)
        for item in items:
            collector.add(item)
        return collector.details()

    def add(self, item: Item) -> None:
        """Note an item."""
        if self._metadata:
            if item.title:
                self._put(TITLE, item.title)
            for name, value in item.metadata.items():
                if value is not None and value != "":
                    self._put(name, value)
        if self._packer is not None:
            self._packer.add(item.default_text())
        self._count += 1

    def details(self) -> Details | None:
        """Return what came together; None if that is nothing."""
        if not self._columns and self._packer is None:
            return None
        columns = {name: codes.column(self._count) for name, codes in self._columns.items()}
        return Details(columns, self._count, None if self._packer is None else self._packer.packed())

    def _put(self, name: str, value: Any) -> None:
        codes = self._columns.get(name)
        plain = isinstance(value, str | int | float)
        if not plain and not self._named:
            return
        if codes is None:
            if not isinstance(name, str) or len(self._columns) >= MOST_COLUMNS or name == TEXT:
                return  # a name that is not a text, or a document that makes up names as it goes
            codes = self._columns[name] = _Codes()
        codes.put(self._count, value if plain else json.dumps(value, ensure_ascii=False, default=str))


class _Codes:
    """The values of one field: each distinct one once."""

    def __init__(self) -> None:
        self._index: dict[Any, int] = {}
        self._codes = array("i")

    def put(self, number: int, value: Any) -> None:
        codes = self._codes
        if len(codes) < number:
            codes.extend([-1] * (number - len(codes)))
        elif len(codes) > number:
            return  # a title beside a field `title`
        key = (
            value if value.__class__ is str else (value.__class__, value)
        )  # 1, 1.0 and True are one key, and three values
        index = self._index
        found = index.get(key)
        if found is None:
            found = index[key] = len(index)
        codes.append(found)

    def column(self, count: int) -> Column:
        self._codes.extend([-1] * (count - len(self._codes)))
        codes, values = np.array(self._codes, np.int32), [_value(key) for key in self._index]
        if all(isinstance(value, bool) for value in values):
            return FlagColumn(Strings.of(map(_text, values)), codes)
        if all(map(_is_number, values)):
            return NumberColumn(np.array([*map(float, values), np.nan])[codes])
        texts = [_text(value) for value in values]
        distinct = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        renamed = np.array([*(distinct[text] for text in texts), -1], np.int32)
        return TextColumn(_strings(distinct), renamed[codes])


def _value(key: Any) -> Any:
    return key if key.__class__ is str else key[1]


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return NUMBER.fullmatch(value) is not None
    return not isinstance(value, bool) and abs(value) <= LARGEST  # NaN is not


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _strings(texts: Iterable[str]) -> Strings:
    try:
        return Strings.of(texts)
    except ValueError as error:
        raise DataError(f"metadata must be valid Unicode ({error}).", remedy="Repair the field.") from None
