"""Details: what is known of each item of a catalogue, as an artifact that its ids carry."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from vizsla.artifact import Artifact
from vizsla.details.column import Column
from vizsla.details.column_file import MOST_COLUMNS as MOST_COLUMNS
from vizsla.details.column_file import ColumnFile, read_columns, write_columns
from vizsla.details.kept_texts import KeptTexts
from vizsla.errors import FormatError, InputError

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

TEXT = "text"
"""What the kept texts are called among the fields."""
LAYOUT = 2
"""The number of the files' layout: another one is refused."""
DESCRIBED = 60
"""Columns that the manifest describes; the file knows all of them."""
SHOWN = 20
"""Fields that an error names."""


class Details(Artifact):
    """Metadata by field, and the texts where they were kept.

    Parameters
    ----------
    columns : mapping of str to Column
        A field's values, one an item.
    count : int
        The number of items.
    texts : KeptTexts, optional
        Their texts.

    Examples
    --------
    >>> from vizsla.details.collector import DetailsCollector
    >>> from vizsla.item import Item
    >>> known = DetailsCollector.of([Item("a", "a fig", metadata={"price": "3.50"})], keep_texts=True)
    >>> known, known.of(0), known.text(0)
    (Details(1 items: price, text), {'price': 3.5}, 'a fig')
    """

    kind = "details"

    def __init__(self, columns: Mapping[str, Column], count: int, texts: KeptTexts | None = None):
        # Columns of a file are checked when they are read, so that none is read before it is needed.
        self.columns = columns if isinstance(columns, ColumnFile) else dict(columns)
        self.count, self.texts = count, texts
        given = () if isinstance(columns, ColumnFile) else columns.values()
        lengths = {len(column) for column in given} | ({len(texts)} if texts is not None else set())
        if lengths - {count}:
            raise InputError(f"Every field must have a value for each of {count} items. Got another number.")

    def __repr__(self) -> str:
        return f"Details({self.count:,} items: {', '.join(self.fields) or 'no fields'})"

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of all fields; `text` is the last, where texts were kept."""
        return (*self.columns, *((TEXT,) if self.texts is not None else ()))

    def of(self, number: int) -> dict[str, Any]:
        """Return an item's metadata; a field that it does not have is left out."""
        values = {name: column.at(number) for name, column in self.columns.items()}
        return {name: value for name, value in values.items() if value is not None}

    def value(self, field: str, number: int) -> Any:
        """Return one field of an item, None where it has none; an unknown field raises."""
        if field == TEXT and TEXT not in self.columns:
            return self.text(number)
        return self.column(field).at(number)

    def text(self, number: int) -> str | None:
        """Return an item's text; None where texts were not kept."""
        return None if self.texts is None else self.texts[number]

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
        known = ", ".join(self.fields[:SHOWN]) or "none"
        more = f", and {len(self.fields) - SHOWN:,} more" if len(self.fields) > SHOWN else ""
        near = get_close_matches(field.casefold(), [name.casefold() for name in self.columns], n=1)
        meant = next((name for name in self.columns if near and name.casefold() == near[0]), None)
        remedy = " Build with --keep-texts to keep texts." if field == TEXT else ""
        remedy = f" Did you mean {meant!r}?" if meant is not None else remedy
        raise InputError(f"A field must be one that the items have ({known}{more}). Got {field!r:.60}.{remedy}")

    def unparsed(self) -> dict[str, tuple[str, int, str]]:
        """Return the kind, the count and an example for each field that has values which do not parse."""
        odd = {name: column for name, column in self.columns.items() if len(column.odd)}
        return {name: (column.kind, column.odd_count, column.odd[0]) for name, column in odd.items()}

    def _write(self, writer: ArtifactWriter) -> None:
        head = dict(islice(self.columns.items(), DESCRIBED))
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
        return cls(columns, count, KeptTexts.read(reader, count) if reader.parameter("texts", bool) else None)


def _described(name: str, column: Column) -> dict[str, Any]:
    """Return what `inspect` shows of a column."""
    values = len(column) - int(column.missing().sum())
    known: dict[str, Any] = {"name": name, "kind": column.kind, "values": values}
    return known | ({"unparsed": column.odd_count, "example": column.odd[0][:40]} if column.odd_count else {})
