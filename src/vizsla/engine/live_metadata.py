"""Metadata of an engine's rows in blocks: columns of a segment, mapped from its folder, and rows in memory."""

from __future__ import annotations

import json
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vizsla.artifacts.reader import ArtifactReader
from vizsla.artifacts.writer import ArtifactWriter, Saving
from vizsla.data.columns import DECIMAL_POINTS, Column
from vizsla.data.conditions import Condition
from vizsla.data.metadata import ItemMetadata
from vizsla.data.metadata_builder import column_of
from vizsla.data.values import COLUMN_KIND_NAMES, NumberStyle
from vizsla.engine.changes import restored
from vizsla.errors import FormatError
from vizsla.typing import BoolArray, Int32Array, Int64Array

BLOCK_ROWS, JOINED = 256, 8
"""Rows in memory whose metadata is turned into columns at a time, and how many such blocks become one: what did not
change is not turned again, and a condition has few blocks to look at."""
MAX_CACHED_MASKS = 64
"""Conditions whose answer a block remembers."""

Row = dict[str, Any]


class FieldKind(NamedTuple):
    """What a field is, decided by its first values or declared.

    Attributes
    ----------
    kind : str
        One of number, date, text, list, boolean.
    declared : bool
        Whether the user said so.
    style : NumberStyle, optional
        The number format of the field.
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
        odd = known and (known[0] not in DECIMAL_POINTS or type(known[1]) is not bool)
        if odd or not isinstance(name, str) or kind not in COLUMN_KIND_NAMES:
            raise FormatError(f"The catalog must name fields and their kinds. Got {name!r:.40}, {kind!r:.40}.")
        found[name] = FieldKind(kind, bool(declared), NumberStyle(*known) if known else None)
    return found


class LazyColumns(Mapping[str, Column]):
    """Columns by the name of their field, each made when it is first asked for."""

    def __init__(self, fields: Fields, make: Callable[[str, FieldKind], Column]):
        self._fields, self._make, self._made = fields, make, dict[str, Column]()

    def __getitem__(self, name: str) -> Column:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = self._make(name, self._fields[name])
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


class LazyMetadata(ItemMetadata):
    """Metadata whose columns are made when a condition asks for them."""

    def __init__(self, columns: LazyColumns, count: int):
        self.columns: Any = columns
        self.count, self.texts = count, None


class MetadataBlock(ABC):
    """The metadata of some consecutive slots, which never changes."""

    def __init__(self) -> None:
        self._known: tuple[Fields, LazyMetadata] | None = None
        self._masks: dict[str, BoolArray] = {}

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def column(self, name: str, kind: FieldKind) -> Column:
        """Return the column of one field."""

    def details(self, fields: Fields) -> LazyMetadata:
        """Return the columns of all fields; none is made before it is asked for."""
        known = self._known
        if known is None or known[0] is not fields:
            known = self._known = fields, LazyMetadata(LazyColumns(fields, self.column), len(self))
            self._masks = {}
        return known[1]

    def mask(self, condition: Condition, fields: Fields) -> BoolArray:
        """Return which slots fulfill a condition; answers to the last ones are remembered."""
        details, key = self.details(fields), str(condition)
        found = self._masks.get(key)
        if found is None:
            found = self._evaluated(condition, details, fields)
            masks = self._masks if len(self._masks) < MAX_CACHED_MASKS else {}
            self._masks = {**masks, key: found}
        return found

    def _evaluated(self, condition: Condition, details: LazyMetadata, fields: Fields) -> BoolArray:
        return condition.holds(details)


class MemoryBlock(MetadataBlock):
    """Rows in memory."""

    def __init__(self, rows: Sequence[Row]):
        super().__init__()
        self.rows = list(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str, kind: FieldKind) -> Column:
        """Turn the values of one field into a column."""
        return column_from(self.rows, name, kind)


class StoredBlock(MetadataBlock):
    """The columns of a segment, mapped from its folder: only those that are asked for are read.

    Parameters
    ----------
    folder : Path
        Where `write_columns_of` wrote them.
    count : int
        The number of rows.
    """

    def __init__(self, folder: Path, count: int):
        super().__init__()
        reader = ArtifactReader(folder, mmap=True, verify=False)
        if reader.kind != ItemMetadata.kind or reader.parameter("count", int) != count:
            raise FormatError(f"{folder}: expected the metadata of {count} rows. Got something else.")
        self.count, self._stored = count, ItemMetadata._read(reader)

    def __len__(self) -> int:
        return self.count

    def column(self, name: str, kind: FieldKind) -> Column:
        """Read one column; a field that came later has no value here."""
        if name in self._stored.columns:
            return self._stored.columns[name]
        return column_of([], np.full(self.count, -1, np.int32), kind.kind, declared=kind.declared, style=kind.style)


class ChangedBlock(MetadataBlock):
    """A block of which some rows have changed since it was written.

    Parameters
    ----------
    base : MetadataBlock
        As it was written.
    rows : dict of int to Row
        The current metadata of some rows.
    """

    def __init__(self, base: MetadataBlock, rows: dict[int, Row]):
        super().__init__()
        self.base, self.rows = base, rows
        self.places = np.fromiter(rows, np.int64, len(rows))
        self.changed = MemoryBlock(list(rows.values()))

    def __len__(self) -> int:
        return len(self.base)

    def column(self, name: str, kind: FieldKind) -> Column:
        """Put the new values in place of the old ones."""
        base, changed = self.base.column(name, kind), self.changed.column(name, kind)
        codes = base.codes.copy()
        codes[self.places] = _shifted(changed.codes, base)
        return _merged([base, changed], codes, kind)

    def _evaluated(self, condition: Condition, details: LazyMetadata, fields: Fields) -> BoolArray:
        mask = self.base.mask(condition, fields).copy()
        mask[self.places] = self.changed.mask(condition, fields)
        return mask


def column_from(rows: Sequence[Row], name: str, kind: FieldKind) -> Column:
    """Return the column of one field."""
    index: dict[Any, int] = {}
    codes = np.full(len(rows), -1, np.int32)
    for at, row in enumerate(rows):
        value = row.get(name)
        if value is not None and value != "":
            plain = restored(value)
            codes[at] = index.setdefault((plain.__class__, plain), len(index))
    return column_of([value for _, value in index], codes, kind.kind, declared=kind.declared, style=kind.style)


def stacked_column(blocks: Sequence[tuple[MetadataBlock, Int64Array | None]], name: str, kind: FieldKind) -> Column:
    """Return the column of some slots of several blocks, one after another; None for all slots of one."""
    columns, codes = list[Column](), [np.zeros(0, np.int32)]
    for block, slots in blocks:
        column = block.column(name, kind)
        codes.append(_shifted(column.codes if slots is None else column.codes[slots], *columns))
        columns.append(column)
    return _merged(columns, np.concatenate(codes), kind) if columns else column_from([], name, kind)


def _shifted(codes: Int32Array, *before: Column) -> Int32Array:
    """Return codes when the values of other columns come before; -1 stays what it is."""
    start = sum(column.known + len(column.odd) for column in before)
    return np.where(codes < 0, codes, codes + np.int32(start)).astype(np.int32)


def _merged(columns: Sequence[Column], codes: Int32Array, kind: FieldKind) -> Column:
    """Return one column whose codes are numbers in the dictionaries of several; values without an item are dropped."""
    made = type(columns[0]).merged(columns, codes).take(np.arange(len(codes)))
    made.declared = kind.declared
    return made


def write_columns_of(
    folder: Path, blocks: Sequence[tuple[MetadataBlock, Int64Array | None]], fields: Fields, count: int
) -> None:
    """Write the columns of some slots of blocks into a new folder; syncing them to the disk is left to the caller."""
    columns = {name: stacked_column(blocks, name, kind) for name, kind in fields.items()}
    held = {name: column for name, column in columns.items() if (column.codes >= 0).any()}
    ArtifactWriter(folder, ItemMetadata.kind, saving=Saving(folder, lasting=False)).write(ItemMetadata(held, count))


def with_rows(blocks: Sequence[MemoryBlock], rows: Sequence[Row]) -> list[MemoryBlock]:
    """Return blocks with more rows at the end."""
    made, at = list(blocks), 0
    while at < len(rows):
        if not made or len(made[-1]) >= BLOCK_ROWS:
            made.append(MemoryBlock([]))
        room = BLOCK_ROWS - len(made[-1])
        made[-1] = MemoryBlock([*made[-1].rows, *rows[at : at + room]])
        at += room
        if len(made) >= JOINED and all(len(block) == BLOCK_ROWS for block in made[-JOINED:]):
            made[-JOINED:] = [MemoryBlock([row for block in made[-JOINED:] for row in block.rows])]
    return made


def with_changed(blocks: Sequence[MetadataBlock], rows: Mapping[int, Row]) -> list[MetadataBlock]:
    """Return blocks with other rows at some slots."""
    made, bounds = list(blocks), np.cumsum([0, *map(len, blocks)])
    places = dict[int, dict[int, Row]]()
    for slot, row in rows.items():
        number = int(np.searchsorted(bounds, slot, side="right")) - 1
        places.setdefault(number, {})[slot - int(bounds[number])] = row
    for number, changed in places.items():
        block = made[number]
        if isinstance(block, MemoryBlock):
            made[number] = MemoryBlock([changed.get(at, row) for at, row in enumerate(block.rows)])
        elif isinstance(block, ChangedBlock):
            made[number] = ChangedBlock(block.base, block.rows | changed)
        else:
            made[number] = ChangedBlock(block, changed)
    return made


def stored_rows(connection: sqlite3.Connection, numbers: Iterable[int]) -> dict[int, Row]:
    """Return the metadata of rows, by number, of those that have any."""
    sql = "SELECT n, fields FROM metadata WHERE n IN (SELECT value FROM json_each(?))"
    return parsed_rows(connection.execute(sql, (json.dumps(list(numbers)),)))


def parsed_rows(rows: Iterable[tuple[int, str]]) -> dict[int, Row]:
    """Return metadata as the catalog stores it, by row number."""
    given = list(rows)
    # One call for all is several times as fast as one for each.
    return dict(zip([n for n, _ in given], json.loads(f"[{','.join(text for _, text in given)}]"), strict=True))
