"""Ids and metadata of an engine's items at one moment, without a copy of everything after each change."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from vizsla._internal.lazy import cached_property
from vizsla.core.catalog import Catalog
from vizsla.core.strings import Strings
from vizsla.data.columns import Column
from vizsla.data.conditions import Condition
from vizsla.data.filter import Filter
from vizsla.data.metadata import ItemMetadata
from vizsla.data.metadata_builder import column_of
from vizsla.data.values import NumberStyle
from vizsla.engine.changes import restored
from vizsla.typing import BoolArray, Int32Array, Int64Array

CHUNK = 2048
"""Rows whose metadata is turned into columns at a time: what did not change is not turned again."""

Fetch = Callable[[int], tuple[dict[str, Any], str]]
"""Reads the metadata and the text of one row from the catalog."""


class FieldKind(NamedTuple):
    """What a field is, decided by its first values or declared.

    Attributes
    ----------
    kind : str
        One of number, date, text, list, boolean.
    declared : bool
        Whether the user said so.
    style : NumberStyle, optional
        How its numbers are written.
    """

    kind: str
    declared: bool
    style: NumberStyle | None


Fields = Mapping[str, FieldKind]


def fields_of(connection: sqlite3.Connection) -> Fields:
    """Return what each field is."""
    rows = connection.execute("SELECT name, kind, declared, style FROM fields").fetchall()
    found = {}
    for name, kind, declared, style in rows:
        known = json.loads(style)
        found[name] = FieldKind(kind, bool(declared), NumberStyle(*known) if known else None)
    return found


def joined_text(title: str, text: str) -> str:
    """Return what members index: title and text joined by one space, or the one that is not empty."""
    return f"{title} {text}" if title and text else title or text


class MetadataChunk:
    """The metadata of some consecutive slots, which never changes, and its columns once they are asked for."""

    def __init__(self, rows: list[dict[str, Any]]):
        self.rows = rows
        self._made: tuple[Any, ItemMetadata] | None = None

    def details(self, fields: Fields) -> ItemMetadata:
        """Return the columns of all fields."""
        made = self._made
        if made is None or made[0] is not fields:
            columns = {name: column_from(self.rows, name, kind) for name, kind in fields.items()}
            made = self._made = fields, ItemMetadata(columns, len(self.rows))
        return made[1]

    def grown(self, rows: Sequence[dict[str, Any]]) -> MetadataChunk:
        """Return the chunk with more rows."""
        return MetadataChunk([*self.rows, *rows])

    def changed(self, rows: Mapping[int, dict[str, Any]]) -> MetadataChunk:
        """Return the chunk with other rows at some places."""
        return MetadataChunk([rows.get(at, row) for at, row in enumerate(self.rows)])


def column_from(rows: Sequence[dict[str, Any]], name: str, kind: FieldKind) -> Column:
    """Return the column of one field."""
    index: dict[Any, int] = {}
    codes = np.full(len(rows), -1, np.int32)
    for at, row in enumerate(rows):
        value = row.get(name)
        if value is not None and value != "":
            plain = restored(value)
            codes[at] = index.setdefault((plain.__class__, plain), len(index))
    return column_of([value for _, value in index], codes, kind.kind, declared=kind.declared, style=kind.style)


def with_rows(chunks: Sequence[MetadataChunk], rows: Sequence[dict[str, Any]]) -> list[MetadataChunk]:
    """Return chunks with more rows at the end."""
    made, at = list(chunks), 0
    if made and len(made[-1].rows) < CHUNK:
        at = CHUNK - len(made[-1].rows)
        made[-1] = made[-1].grown(rows[:at])
    made += [MetadataChunk(list(rows[start : start + CHUNK])) for start in range(at, len(rows), CHUNK)]
    return made


def with_changed(chunks: Sequence[MetadataChunk], rows: Mapping[int, dict[str, Any]]) -> list[MetadataChunk]:
    """Return chunks with other rows at some slots."""
    made, places = list(chunks), dict[int, dict[int, dict[str, Any]]]()
    for slot, row in rows.items():
        places.setdefault(slot // CHUNK, {})[slot % CHUNK] = row
    for number, changed in places.items():
        made[number] = made[number].changed(changed)
    return made


class LiveMetadata(ItemMetadata):
    """Metadata of the live items at one moment: columns are made when they are asked for.

    Parameters
    ----------
    fields : mapping of str to FieldKind
        All fields.
    chunks : sequence of MetadataChunk, optional
        The metadata by slot; None where this process has not read it.
    slots : int32 array, optional
        The slot of each item.
    count : int
        The number of items.
    fetch : function of an item's number
        Reads its metadata and its text from the catalog.
    """

    def __init__(
        self, fields: Fields, chunks: Sequence[MetadataChunk] | None, slots: Int32Array | None, count: int, fetch: Fetch
    ):
        self._fields, self._chunks, self._slots, self._fetch = fields, chunks, slots, fetch
        self.count, self.texts = count, None
        self.columns: Any = _LazyColumns(self)

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of all fields, and `text`."""
        return (*self._fields, "text")

    @property
    def is_loaded(self) -> bool:
        """Whether conditions can be evaluated."""
        return self._chunks is not None

    def of(self, number: int) -> dict[str, Any]:
        """Return an item's metadata."""
        if self._chunks is None:
            return dict(self._fetch(number)[0])
        slot = number if self._slots is None else int(self._slots[number])
        return dict(self._chunks[slot // CHUNK].rows[slot % CHUNK])

    def text(self, number: int) -> str | None:
        """Return an item's text."""
        return self._fetch(number)[1]

    def value(self, field: str, number: int) -> Any:
        """Return one field of an item, None where it has none; an unknown field raises."""
        if field == "text" and field not in self._fields:
            return self.text(number)
        return self.of(number).get(self.field(field))

    def mask(self, condition: Condition) -> BoolArray:
        """Return which items fulfill the condition."""
        chunks = self._chunks or []
        flags = [condition.holds(chunk.details(self._fields)) for chunk in chunks]
        if not flags:  # an unknown field is named even if there are no items
            return condition.holds(MetadataChunk([]).details(self._fields))
        together = np.concatenate(flags)
        return together if self._slots is None else together[self._slots]

    def whole_column(self, field: str) -> Column:
        """Return the column of one field over all items."""
        rows = [row for chunk in self._chunks or [] for row in chunk.rows]
        kept = rows if self._slots is None else [rows[slot] for slot in self._slots.tolist()]
        return column_from(kept, field, self._fields[field])


class _LazyColumns(Mapping[str, Column]):
    def __init__(self, details: LiveMetadata):
        self._details, self._made = details, dict[str, Column]()

    def __getitem__(self, name: str) -> Column:
        if name not in self._details._fields:
            raise KeyError(name)
        if name not in self._made:
            self._made[name] = self._details.whole_column(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._details._fields)

    def __len__(self) -> int:
        return len(self._details._fields)


class LiveCatalog(Catalog):
    """Ids of the live items at one moment; the table that finds ids is made when it is needed.

    Parameters
    ----------
    stored : Strings
        The ids of the segments' rows, by slot.
    memory : list of str
        The ids of later rows; it may grow afterwards.
    slots : int32 array, optional
        The slot of each item; None where all slots are live.
    count : int
        The number of items.
    details : LiveMetadata
        Their metadata.
    """

    def __init__(self, stored: Strings, memory: list[str], slots: Int32Array | None, count: int, details: LiveMetadata):
        self._stored, self._memory, self._slots, self.size = stored, memory, slots, count
        self._boundary, self.details, self.source = len(stored), details, "engine"

    __hash__ = Strings.__hash__

    def __getattr__(self, name: str) -> Any:
        """Make the flat arrays of `Strings` when one of them is asked for."""
        if name not in ("data", "offsets", "slots", "_table"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        whole = self._whole
        self.data, self.offsets, self.slots, self._table = whole.data, whole.offsets, whole.slots, whole._table
        return getattr(self, name)

    @cached_property
    def _whole(self) -> Strings:
        return Strings.of(self.take(np.arange(self.size, dtype=np.int32)))

    def __len__(self) -> int:
        return self.size

    def __reduce__(self) -> tuple[Any, ...]:
        return Strings.of, (self[:],)

    def __eq__(self, other: object) -> bool:
        return self is other or super().__eq__(other)

    def take(self, numbers: Int32Array) -> list[str]:
        """Return the ids with these numbers."""
        wanted = self._numbers(numbers)
        if len(wanted) and not 0 <= wanted.min() <= wanted.max() < self.size:
            raise IndexError(f"string {wanted.max()} of {self.size}")
        places = wanted if self._slots is None else self._slots[wanted]
        if not len(places) or places.max() < self._boundary:
            return self._stored.take(places)
        memory, boundary = self._memory, self._boundary
        if places.min() >= boundary:
            return [memory[place - boundary] for place in places.tolist()]
        early = iter(self._stored.take(places[places < boundary]))
        return [next(early) if place < boundary else memory[place - boundary] for place in places.tolist()]

    def _get(self, number: int) -> str:
        return self.take(np.array([number], np.int32))[0]

    def filter(self, condition: Condition) -> Filter:
        """Return a condition as a filter over these items."""
        details = self.details
        mask = details.mask(condition) if isinstance(details, LiveMetadata) else condition.mask(self)
        return Filter(mask, self, condition=condition)


def joined_ids(parts: Sequence[Strings]) -> Strings:
    """Return several tables of strings as one that is read by number only."""
    if len(parts) == 1:
        return parts[0]
    none = np.zeros(0, np.uint32)
    if not parts:
        return Strings(np.zeros(0, np.uint8), np.zeros(1, np.int64), none)
    starts: Int64Array = np.cumsum([0, *(len(part.data) for part in parts)]).astype(np.int64)
    offsets = [part.offsets[:-1] + start for part, start in zip(parts, starts[:-1], strict=True)]
    return Strings(np.concatenate([part.data for part in parts]), np.concatenate([*offsets, starts[-1:]]), none)
