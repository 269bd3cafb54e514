"""Ids and metadata of an engine's items at one moment, without a copy of everything after each change."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vizsla._internal.lazy import cached_property
from vizsla.core.catalog import Catalog
from vizsla.core.strings import Strings
from vizsla.data.columns import Column
from vizsla.data.conditions import Condition
from vizsla.data.filter import Filter
from vizsla.data.metadata import TEXT_FIELD, ItemMetadata
from vizsla.data.metadata_builder import TITLE_FIELD
from vizsla.engine.live_metadata import (
    FieldKind,
    Fields,
    LazyColumns,
    MemoryBlock,
    MetadataBlock,
    stacked_column,
)
from vizsla.engine.row_words import LiveLists
from vizsla.engine.slots import GrowingArray, SlotMap
from vizsla.errors import InputError
from vizsla.typing import BoolArray, Int32Array, Int64Array

Fetch = Callable[[Sequence[int]], list[tuple[dict[str, Any], str]]]
"""Reads the metadata, with the title, and the text of items from the catalog, in one statement."""


def joined_text(title: str, text: str) -> str:
    """Return what members index: title and text joined by one space, or the one that is not empty."""
    return f"{title} {text}" if title and text else title or text


ROWS = "SELECT n, title, text, (SELECT fields FROM metadata WHERE metadata.n = items.n) FROM items WHERE n IN (%s)"
ROWS_AT_A_TIME = 100
"""Rows that one statement reads: SQLite keeps those of each length prepared."""
MAX_KEPT_ROWS, MAX_KEPT_CHARS = 8192, 1000
"""How many rows that were shown are kept, and up to which length: what is found once is found again."""


class ShownRows:
    """Reads the metadata and the texts of items, as one generation has them; the short ones are kept as stored.

    Parameters
    ----------
    read : function of a statement and its values
        Returns rows of the catalog.
    slots : SlotMap
        Which slots have an item.
    stored, memory : int64 array
        The row numbers of the slots of segments, and of those after them.
    """

    def __init__(
        self, read: Callable[[str, Sequence[Any]], list[Any]], slots: SlotMap, stored: Int64Array, memory: Int64Array
    ):
        self._read, self._slots, self._stored, self._memory = read, slots, stored, memory
        self._kept: dict[int, tuple[str, str, str | None]] = {}

    def __call__(self, items: Sequence[int]) -> list[tuple[dict[str, Any], str]]:
        """Return the metadata, with the title, and the text of each item; nothing of one that was erased."""
        stored, memory, kept = self._stored, self._memory, self._kept
        places = self._slots.of_items(np.asarray(items, np.int64))
        if places.max(initial=-1) < len(stored):
            numbers = stored[places].tolist()
        else:
            numbers = [int(stored[at] if at < len(stored) else memory[at - len(stored)]) for at in places.tolist()]
        rows = {number: kept.get(number) for number in numbers}
        missing = [number for number, row in rows.items() if row is None]
        for first in range(0, len(missing), ROWS_AT_A_TIME):
            asked = missing[first : first + ROWS_AT_A_TIME]
            for number, title, text, known in self._read(ROWS % ", ".join("?" * len(asked)), asked):
                row = rows[number] = title, text, known
                if len(title) + len(text) + len(known or "") <= MAX_KEPT_CHARS and len(kept) < MAX_KEPT_ROWS:
                    kept[number] = row
        return [_parsed(*(rows[number] or ("", "", None))) for number in numbers]


def _parsed(title: str, text: str, known: str | None) -> tuple[dict[str, Any], str]:
    fields = {} if known is None else json.loads(known)
    return {TITLE_FIELD: title, **fields} if title else fields, joined_text(title, text)


class LiveMetadata(ItemMetadata):
    """Metadata of the live items at one moment: columns are made when they are asked for.

    Parameters
    ----------
    fields : mapping of str to FieldKind
        All fields.
    blocks : sequence of MetadataBlock, optional
        The metadata by slot; None where this process has not read it.
    slots : SlotMap, optional
        Which slots have an item; None where all have.
    count : int
        The number of items.
    fetch : function of items' numbers
        Reads the metadata and the text of each from the catalog.
    words : function of "title" or "text"
        Returns the lists of the words of titles, or of the whole texts.
    """

    grows = True

    def __init__(
        self,
        fields: Fields,
        blocks: Sequence[MetadataBlock] | None,
        slots: SlotMap | None,
        count: int,
        fetch: Fetch,
        words: Callable[[str], LiveLists],
    ):
        self._fields, self._blocks, self._fetch = fields, blocks, fetch
        self.row_words = words
        self._live = None if slots is None else slots.flags
        self._last: tuple[int, tuple[dict[str, Any], str]] | None = None
        self.count, self.texts = count, None
        self.columns: Any = LazyColumns(fields, self._whole_column)

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of all fields, `title` and `text`."""
        return (*self._fields, *(name for name in (TITLE_FIELD, TEXT_FIELD) if name not in self._fields))

    @property
    def is_loaded(self) -> bool:
        """Whether conditions can be evaluated."""
        return self._blocks is not None

    def of(self, number: int) -> dict[str, Any]:
        """Return an item's metadata, with its title."""
        return dict(self._row(number)[0])

    def text(self, number: int) -> str | None:
        """Return an item's text."""
        return self._row(number)[1]

    def _row(self, number: int) -> tuple[dict[str, Any], str]:
        """Return an item's metadata and text; text and metadata of one item are usually asked for together."""
        last = self._last
        if last is None or last[0] != number:
            last = self._last = (number, self._fetch([number])[0])
        return last[1]

    def rows(self, numbers: Sequence[int]) -> list[tuple[dict[str, Any], str | None]]:
        """Return the metadata, with the title, and the text of some items."""
        return list(self._fetch(numbers))

    def value(self, field: str, number: int) -> Any:
        """Return one field of an item, None where it has none; an unknown field raises."""
        if field == TEXT_FIELD and field not in self._fields:
            return self.text(number)
        return self.of(number).get(field if field == TITLE_FIELD else self.field(field))

    def field(self, field: str) -> str:
        """Return a field's name as the metadata has it; titles and texts are shown, but have no column."""
        if field in (TITLE_FIELD, TEXT_FIELD) and field not in self._fields:
            raise InputError(
                f"Conditions, facets, sort and groups need a field of the metadata. Got {field!r}: store it there, too."
            )
        return super().field(field)

    def slot_mask(self, condition: Condition) -> BoolArray:
        """Return which slots have an item that fulfills the condition."""
        flags = [block.mask(condition, self._fields) for block in self._blocks or ()]
        if not flags:  # an unknown field is named even if there are no items
            return MemoryBlock([]).mask(condition, self._fields)
        together = np.concatenate(flags)
        return together if self._live is None else together & self._live

    def mask(self, condition: Condition) -> BoolArray:
        """Return which items fulfill a condition."""
        return self.of_items(self.slot_mask(condition))

    def of_items(self, flags: BoolArray) -> BoolArray:
        """Return the flags of the items, of one flag per slot."""
        return flags if self._live is None else flags[self._live]

    def _whole_column(self, name: str, kind: FieldKind) -> Column:
        column = stacked_column([(block, None) for block in self._blocks or ()], name, kind)
        return column if self._live is None else column.take(np.flatnonzero(self._live))


class LiveFilter(Filter):
    """A condition over the items of one moment, which also knows their slots.

    Parameters
    ----------
    slot_mask : bool array
        Which slots may be found.
    items : LiveCatalog
        The items.
    condition : Condition
        The condition.
    """

    def __init__(self, slot_mask: BoolArray, items: LiveCatalog, condition: Condition):
        details = items.details
        super().__init__(details.of_items(slot_mask), items, condition=condition)
        self.slot_mask = slot_mask


class LiveCatalog(Catalog):
    """Ids of the live items at one moment; the table that finds ids is made when it is needed.

    Parameters
    ----------
    stored : Strings
        The ids of the segments' rows, by slot.
    memory : list of str
        The ids of later rows; it may grow afterwards.
    slots : SlotMap, optional
        Which slots have an item; None where all have.
    count : int
        The number of items.
    details : LiveMetadata
        Their metadata.
    """

    def __init__(self, stored: Strings, memory: list[str], slots: SlotMap | None, count: int, details: LiveMetadata):
        self._stored, self._memory, self._slots, self.size = stored, memory, slots, count
        self._boundary, self.source = len(stored), "engine"
        self.details: LiveMetadata = details

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
        places = wanted if self._slots is None else self._slots.of_items(wanted)
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
        return LiveFilter(self.details.slot_mask(condition), self, condition)


class StoredRows:
    """Numbers and ids of the rows of segments, one table after another; more of them are added without a copy.

    Parameters
    ----------
    parts : sequence of (int64 array, Strings)
        The row numbers and ids of each segment.
    """

    def __init__(self, parts: Sequence[tuple[Int64Array, Strings]]):
        numbers, ids = parts[0] if parts else (np.zeros(0, np.int64), Strings.of([]))
        self._numbers = GrowingArray(numbers)
        self._data, self._offsets = GrowingArray(ids.data), GrowingArray(ids.offsets)
        self._ids: Strings | None = None
        for each in parts[1:]:
            self.append(*each)

    @property
    def numbers(self) -> Int64Array:
        """The row numbers."""
        return np.asarray(self._numbers.values, np.int64)

    @property
    def ids(self) -> Strings:
        """The ids, as a table that is read by number only."""
        if self._ids is None:
            self._ids = Strings(self._data.values, self._offsets.values, np.zeros(0, np.uint32))
        return self._ids

    def append(self, numbers: Int64Array, ids: Strings) -> None:
        """Add the rows of the next segment."""
        self._numbers.append(numbers)
        self._offsets.append(ids.offsets[1:] + len(self._data))
        self._data.append(ids.data)
        self._ids = None
