"""Metadata and texts of items: columns, and texts in compressed blocks."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.artifacts.artifact import Artifact
from vizsla.core.sparse import are_offsets
from vizsla.data.columns import COLUMN_KINDS, Column, Segments
from vizsla.errors import FormatError, InputError

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.data.conditions import Condition
    from vizsla.typing import BoolArray


BLOCK_BYTES = 1 << 15
ZLIB_LEVEL = 6
MAX_BLOCK_BYTES = 64 << 20
"""Bytes of one block: one text, where that is longer than a block."""
MAX_ZLIB_RATIO = 1100
"""No block unpacks to more times its bytes: zlib's own limit is 1032."""


class CompressedTexts:
    """Texts by number.

    Parameters
    ----------
    data : uint8 array
        The packed blocks, one after another.
    blocks : int64 array
        Where each block begins in `data`, and where the last one ends.
    firsts : int64 array
        The first text of each block, and the number of texts.
    ends : int64 array
        Where each text ends, in bytes of all texts; one more than there are texts, from 0.

    Examples
    --------
    >>> packer = TextPacker()
    >>> for text in ("a fig", "", "a pear"):
    ...     packer.add(text)
    >>> [packer.packed()[number] for number in range(3)]
    ['a fig', '', 'a pear']
    """

    def __init__(
        self,
        data: NDArray[np.uint8],
        blocks: NDArray[np.int64],
        firsts: NDArray[np.int64],
        ends: NDArray[np.int64],
        *,
        source: str = "kept texts",
    ):
        self.data, self.blocks, self.firsts, self.ends, self.source = data, blocks, firsts, ends, source
        self._last: tuple[int, bytes] = (-1, b"")

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, number: int) -> str:
        at = range(len(self))[number]
        block = int(np.searchsorted(self.firsts, at, side="right")) - 1
        start = int(self.ends[self.firsts[block]])
        raw = self._unpacked(block)[int(self.ends[at]) - start : int(self.ends[at + 1]) - start]
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise FormatError(f"{self.source}: text {at} is not valid UTF-8 ({error.reason}).") from error

    def __iter__(self) -> Iterator[str]:
        """Yield all texts; every block is unpacked once."""
        ends = self.ends
        for block, (first, last) in enumerate(pairwise(self.firsts.tolist())):
            raw, start = self._unpacked(block), int(ends[first])
            bounds = (ends[first : last + 1] - start).tolist()
            for number, (low, high) in enumerate(pairwise(bounds), first):
                try:
                    yield raw[low:high].decode()
                except UnicodeDecodeError:
                    yield self[number]  # raises the error that names it

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return int(self.data.nbytes + self.blocks.nbytes + self.firsts.nbytes + self.ends.nbytes)

    def check(self) -> None:
        """Raise FormatError unless every block can be unpacked to the size that it should have."""
        for number in self.firsts[:-1].tolist():
            _ = self[number]

    def _unpacked(self, block: int) -> bytes:
        last, data = self._last
        if last == block:
            return data
        wanted = int(self.ends[self.firsts[block + 1]] - self.ends[self.firsts[block]])
        packed = self.data[int(self.blocks[block]) : int(self.blocks[block + 1])].tobytes()
        try:
            # A block may not claim less than it unpacks to, and one that claims more than it can is not tried at all.
            possible = wanted <= min(MAX_BLOCK_BYTES, MAX_ZLIB_RATIO * len(packed))
            data = zlib.decompressobj().decompress(packed, wanted + 1) if possible else b""
        except zlib.error as error:
            raise FormatError(f"{self.source}: block {block} cannot be unpacked ({error}).") from error
        if len(data) != wanted:
            raise FormatError(f"{self.source}: block {block} must unpack to {wanted} bytes. Got another number.")
        self._last = (block, data)
        return data

    def write(self, writer: ArtifactWriter) -> None:
        """Store the arrays."""
        writer.array("texts", self.data)
        writer.array("text_blocks", self.blocks)
        writer.array("text_firsts", self.firsts)
        writer.array("text_ends", self.ends)

    @classmethod
    def read(cls, reader: ArtifactReader, count: int) -> Self:
        """Read and check the arrays."""
        names = ("text_blocks", "text_firsts", "text_ends")
        data, (blocks, firsts, ends) = reader.array("texts", np.uint8), (reader.array(n, np.int64) for n in names)
        file = reader.path / "texts.npy"
        sound = are_offsets(blocks, len(data)) and len(blocks) == len(firsts) and len(ends) == count + 1
        if not sound or not are_offsets(firsts, count) or not are_offsets(ends, int(ends[-1])):
            raise FormatError(f"{file}: the blocks of the texts do not fit {count} items.")
        if (np.diff(firsts) < 1).any() or (len(blocks) > 1 and np.diff(ends[firsts]).max() > _most(ends)):
            raise FormatError(f"{file}: every block must hold texts, and not too many.")
        texts = cls(data, blocks, firsts, ends, source=str(file))
        if reader.loading.verify:
            texts.check()
        return texts


def _most(ends: NDArray[np.int64]) -> int:
    """Return the most bytes of a block: it is full when a text fills it."""
    return BLOCK_BYTES + int(np.diff(ends).max(initial=0))


class TextPacker:
    """Packs texts as they come."""

    def __init__(self) -> None:
        self._data, self._blocks, self._firsts, self._ends = (
            bytearray(),
            array("q", [0]),
            array("q", [0]),
            array("q", [0]),
        )
        self._waiting = bytearray()

    def add(self, text: str) -> None:
        """Add the next text."""
        raw = text.encode()
        if len(raw) > MAX_BLOCK_BYTES - BLOCK_BYTES:
            raise InputError(f"A text must have at most {MAX_BLOCK_BYTES - BLOCK_BYTES} bytes. Got one of {len(raw)}.")
        self._waiting += raw
        self._ends.append(self._ends[-1] + len(raw))
        if len(self._waiting) >= BLOCK_BYTES:
            self._close()

    def packed(self) -> CompressedTexts:
        """Return all texts."""
        if self._firsts[-1] < len(self._ends) - 1:
            self._close()
        data = np.frombuffer(bytes(self._data), np.uint8)
        return CompressedTexts(data, *(np.array(part, np.int64) for part in (self._blocks, self._firsts, self._ends)))

    def _close(self) -> None:
        self._data += zlib.compress(bytes(self._waiting), ZLIB_LEVEL)
        self._blocks.append(len(self._data))
        self._firsts.append(len(self._ends) - 1)
        self._waiting.clear()


class GatheredTexts:
    """Texts of one or several stores by other numbers, as they lie: none is unpacked before it is asked for.

    Parameters
    ----------
    stores : sequence of CompressedTexts
        The texts.
    which : int32 array
        The store of each text; -1 for an item whose text was not kept, which is empty.
    places : int64 array
        The number of each text in its store.

    Examples
    --------
    >>> packer = TextPacker()
    >>> for text in ("a fig", "a pear"):
    ...     packer.add(text)
    >>> some = GatheredTexts([packer.packed()], np.array([0, -1], np.int32), np.array([1, 0]))
    >>> some[0], some[1]
    ('a pear', '')
    """

    def __init__(self, stores: Sequence[CompressedTexts], which: NDArray[np.int32], places: NDArray[np.int64]):
        self.stores, self.which, self.places = list(stores), which, places

    def __len__(self) -> int:
        return len(self.which)

    def __getitem__(self, number: int) -> str:
        store = int(self.which[number])
        return "" if store < 0 else self.stores[store][int(self.places[number])]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return int(self.which.nbytes + self.places.nbytes) + sum(store.nbytes for store in self.stores)

    def write(self, writer: ArtifactWriter) -> None:
        """Store the texts in their new order."""
        packer = TextPacker()
        for number in range(len(self)):
            packer.add(self[number])
        packer.packed().write(writer)


TextStore = CompressedTexts | GatheredTexts
TEXT_FIELD = "text"
"""What the kept texts are called among the fields."""
LAYOUT = 3
"""The number of the files' layout: another one is refused."""
MAX_DESCRIBED_COLUMNS = 60
"""Columns that the manifest describes; the file knows all of them."""
MAX_FIELDS_NAMED = 20
"""Fields that an error names."""


class ItemMetadata(Artifact):
    """Metadata by field, and the texts where they were kept.

    Parameters
    ----------
    columns : mapping of str to Column
        A field's values, one an item.
    count : int
        The number of items.
    texts : CompressedTexts or GatheredTexts, optional
        Their texts.

    Examples
    --------
    >>> from vizsla.data.metadata_builder import DetailsCollector
    >>> from vizsla.core.catalog import Item
    >>> known = DetailsCollector.of([Item("a", "a fig", metadata={"price": "3.50"})], keep_texts=True)
    >>> known, known.of(0), known.text(0)
    (ItemMetadata(1 items: price, text), {'price': '3.50'}, 'a fig')
    """

    kind = "item-metadata"
    grows: ClassVar[bool] = False
    """Whether items with other fields may come later: a field that is not there yet is then no mistake."""

    row_words: Callable[[str], Any] | None = None
    """Returns the lists of words of titles, or of texts, where these change: an engine keeps them up to date."""

    def __init__(self, columns: Mapping[str, Column], count: int, texts: TextStore | None = None):
        # Columns of a file are checked when they are read, so that none is read before it is needed.
        self.columns = columns if isinstance(columns, ColumnFile) else dict(columns)
        self.count, self.texts = count, texts
        given = () if isinstance(columns, ColumnFile) else columns.values()
        lengths = {len(column) for column in given} | ({len(texts)} if texts is not None else set())
        if lengths - {count}:
            raise InputError(f"Every field must have a value for each of {count} items. Got another number.")

    def __repr__(self) -> str:
        return f"ItemMetadata({self.count:,} items: {', '.join(self.fields) or 'no fields'})"

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of all fields; `text` is the last, where texts were kept."""
        return (*self.columns, *((TEXT_FIELD,) if self.texts is not None else ()))

    def lacks(self, field: str) -> bool:
        """Return whether a field may come later: no item has it yet."""
        return self.grows and all(field.casefold() != name.casefold() for name in self.columns)

    def of(self, number: int) -> dict[str, Any]:
        """Return an item's metadata; a field that it does not have is left out."""
        values = {name: column.at(number) for name, column in self.columns.items()}
        return {name: value for name, value in values.items() if value is not None}

    def value(self, field: str, number: int) -> Any:
        """Return one field of an item, None where it has none; an unknown field raises."""
        if field == TEXT_FIELD and TEXT_FIELD not in self.columns:
            return self.text(number)
        return self.column(field).at(number)

    def text(self, number: int) -> str | None:
        """Return an item's text; None where texts were not kept."""
        return None if self.texts is None else self.texts[number]

    def rows(self, numbers: Sequence[int]) -> list[tuple[dict[str, Any], str | None]]:
        """Return the metadata and the text of some items."""
        return [(self.of(number), self.text(number)) for number in numbers]

    def column(self, field: str) -> Column:
        """Return a field of the metadata, in any case where that is plain; an unknown one raises."""
        return self.columns[self.field(field)]

    def field(self, field: str) -> str:
        """Return a field's name as the metadata has it; an unknown one raises."""
        if field in self.columns:
            return field
        alike = [name for name in self.columns if name.casefold() == field.casefold()]
        if len(alike) == 1:
            return alike[0]
        known = ", ".join(self.fields[:MAX_FIELDS_NAMED]) or "none"
        more = f", and {len(self.fields) - MAX_FIELDS_NAMED:,} more" if len(self.fields) > MAX_FIELDS_NAMED else ""
        near = get_close_matches(field.casefold(), [name.casefold() for name in self.columns], n=1)
        meant = next((name for name in self.columns if near and name.casefold() == near[0]), None)
        remedy = " Build with --keep-texts to keep texts." if field == TEXT_FIELD else ""
        remedy = f" Did you mean {meant!r}?" if meant is not None else remedy
        raise InputError(f"A field must be one that the items have ({known}{more}). Got {field!r:.60}.{remedy}")

    def mask(self, condition: Condition) -> BoolArray:
        """Return which items fulfill a condition."""
        return condition.holds(self)

    def unparsed(self) -> dict[str, tuple[str, int, str]]:
        """Return the kind, the count and an example for each field that has values which do not parse."""
        odd = {name: column for name, column in self.columns.items() if len(column.odd)}
        return {name: (column.kind, column.odd_count, column.odd[0]) for name, column in odd.items()}

    def _write(self, writer: ArtifactWriter) -> None:
        head = dict(islice(self.columns.items(), MAX_DESCRIBED_COLUMNS))
        described = [_described(name, column) for name, column in head.items()]
        writer.parameters(
            layout=LAYOUT, count=self.count, fields=len(self.columns), columns=described, texts=self.texts is not None
        )
        write_columns(writer, self.columns)
        if self.texts is not None:
            self.texts.write(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        layout = reader.manifest.parameters.get("layout")
        if layout != LAYOUT:
            raise FormatError(f"{reader.path}: metadata of layout {layout!r}, not {LAYOUT}: build the artifact anew.")
        count = reader.parameter("count", int)
        if count < 0:
            raise FormatError(f"{reader.path}: metadata of {count} items.")
        columns = read_columns(reader, count)
        return cls(columns, count, CompressedTexts.read(reader, count) if reader.parameter("texts", bool) else None)


def _described(name: str, column: Column) -> dict[str, Any]:
    """Return what `inspect` shows of a column."""
    values = len(column) - int(column.missing().sum())
    known: dict[str, Any] = {"name": name, "kind": column.kind, "values": values}
    return known | ({"unparsed": column.odd_count, "example": column.odd[0][:40]} if column.odd_count else {})


DATA_ARRAY, PLACES_ARRAY = "columns", "column_places"
MAX_COLUMNS = 10_000
MAX_ARRAYS_PER_COLUMN = 5
"""Arrays of a column at most."""
NUMBERS_PER_COLUMN = 2 + 2 * (1 + MAX_ARRAYS_PER_COLUMN)
"""Numbers that a file has for a column: kind, settings, and two for its name and for each array."""
ALIGNMENT_BYTES = 8


def write_columns(writer: ArtifactWriter, columns: Mapping[str, Column]) -> None:
    """Store columns as `columns.npy`, all bytes one after another, and `column_places.npy`, a row per column.

    A row holds the number of the column's kind, its settings, and where its name and each of its arrays begin and end.
    """
    places = np.zeros((len(columns), NUMBERS_PER_COLUMN), np.int64)
    parts: list[NDArray[np.uint8]] = []
    end = 0
    for row, (name, column) in zip(places, columns.items(), strict=True):
        row[:2] = COLUMN_KINDS.index(type(column)), column.settings
        for at, segment in enumerate([_encoded(name), *column.segments()]):
            data = np.ascontiguousarray(segment).reshape(-1).view(np.uint8)
            row[2 + 2 * at : 4 + 2 * at] = end, end + len(data)
            padding = -len(data) % ALIGNMENT_BYTES
            parts += [data, np.zeros(padding, np.uint8)]
            end += len(data) + padding
    writer.array(DATA_ARRAY, np.concatenate(parts) if parts else np.zeros(0, np.uint8))
    writer.array(PLACES_ARRAY, places)


def _encoded(name: str) -> NDArray[np.uint8]:
    try:
        return np.frombuffer(name.encode(), np.uint8)
    except UnicodeEncodeError:
        raise InputError(f"The name of a field must be valid Unicode. Got {name!r:.60}.") from None


def read_columns(reader: ArtifactReader, count: int) -> ColumnFile:
    """Return the columns of a file; names and places are checked now, a column when it is read first."""
    data, places = reader.array(DATA_ARRAY, np.uint8), reader.array(PLACES_ARRAY, np.int64, ndim=2)
    source = str(reader.path / f"{DATA_ARRAY}.npy")
    if places.shape[0] > MAX_COLUMNS or places.shape[1] != NUMBERS_PER_COLUMN:
        raise FormatError(f"{source}: the places of the columns are not sound.")
    starts, ends = places[:, 2::2], places[:, 3::2]
    kinds = places[:, 0]
    inside = (starts >= 0) & (starts <= ends) & (ends <= len(data)) & (starts % ALIGNMENT_BYTES == 0)
    if not inside.all() or not ((kinds >= 0) & (kinds < len(COLUMN_KINDS))).all():
        raise FormatError(f"{source}: the places of the columns do not fit their bytes.")
    try:
        names = [data[start:end].tobytes().decode() for start, end in zip(starts[:, 0], ends[:, 0], strict=True)]
    except UnicodeDecodeError as error:
        raise FormatError(f"{source}: the name of a field is not valid UTF-8 ({error.reason}).") from error
    if len(set(names)) < len(names):
        raise FormatError(f"{source}: every field must have a name of its own.")
    columns = ColumnFile(data, places, names, count, source)
    if reader.loading.verify:
        columns.check()
    return columns


class ColumnFile(Mapping[str, Column]):
    """Columns by name, in the order of the data; each is made of the file's bytes when it is first asked for."""

    def __init__(self, data: NDArray[np.uint8], places: NDArray[np.int64], names: list[str], count: int, source: str):
        self._data, self._places, self._count, self._source = data, places, count, source
        self._rows = {name: row for row, name in enumerate(names)}
        self._made: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = self._read(self._rows[name])
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, name: Any) -> bool:
        return name in self._rows

    def check(self) -> None:
        """Raise FormatError unless every column is sound and its texts are valid."""
        for row in range(len(self)):
            self._read(row).check_text()

    def _read(self, row: int) -> Column:
        kind, settings, _, _, *bounds = map(int, self._places[row])
        parts = [self._data[start:end] for start, end in zip(bounds[::2], bounds[1::2], strict=True)]
        column = COLUMN_KINDS[kind].of_segments(Segments(parts, self._count, self._source))
        try:
            column.set(settings)
        except ValueError as error:
            raise FormatError(f"{self._source}: {error}. Got {settings}.") from None
        return column
