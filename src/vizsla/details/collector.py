"""Collects what is known of items while they are read."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from operator import itemgetter
from typing import Any

import numpy as np

from vizsla.details import values
from vizsla.details.column import Column, ListText
from vizsla.details.details import MOST_COLUMNS, TEXT, Details
from vizsla.details.infer import column_of
from vizsla.details.kept_texts import TextPacker
from vizsla.item import Item

TITLE = "title"
BATCH = 4096
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
    def of(cls, items: Iterable[Item], *, keep_texts: bool = False) -> Details | None:
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

    def details(self) -> Details | None:
        """Return what came together; None if that is nothing."""
        self._note()
        if not self._columns and self._packer is None:
            return None
        columns = {name: codes.column(self._count, self._kind(name)) for name, codes in self._columns.items()}
        return Details(columns, self._count, None if self._packer is None else self._packer.packed())

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
