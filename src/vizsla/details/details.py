"""Details: what is known of each item of a catalogue, as an artefact that its ids carry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from vizsla.artifact import Artifact
from vizsla.details.column import COLUMNS, Column
from vizsla.details.kept_texts import KeptTexts
from vizsla.errors import FormatError, InputError

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

TEXT = "text"
"""What the kept texts are called among the fields."""
MOST_COLUMNS = 10_000


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
        self.columns, self.count, self.texts = dict(columns), count, texts
        lengths = {len(column) for column in columns.values()} | ({len(texts)} if texts is not None else set())
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
        if field not in self.columns:
            alike = [name for name in self.columns if name.casefold() == field.casefold()]
            if len(alike) == 1:
                return self.columns[alike[0]]
            known = ", ".join(self.fields) or "none"
            remedy = " Build with --keep-texts to keep texts." if field == TEXT else ""
            raise InputError(f"A field must be one that the items have ({known}). Got {field!r:.60}.{remedy}")
        return self.columns[field]

    def _write(self, writer: ArtifactWriter) -> None:
        described = [{"name": name, "kind": column.kind} for name, column in self.columns.items()]
        writer.parameters(count=self.count, columns=described, texts=self.texts is not None)
        for number, column in enumerate(self.columns.values()):
            column.write(writer, f"column{number}")
        if self.texts is not None:
            self.texts.write(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        count, described = reader.parameter("count", int), reader.parameter("columns", list)
        names = [_entry(entry, "name") for entry in described]
        kinds = [_entry(entry, "kind") for entry in described]
        if count < 0 or len(set(names)) < len(names) or len(names) > MOST_COLUMNS or not set(kinds) <= set(COLUMNS):
            raise FormatError(f"{reader.path}: the fields of the metadata are not sound.")
        columns = {
            name: COLUMNS[kind].read(reader, f"column{number}", count)
            for number, (name, kind) in enumerate(zip(names, kinds, strict=True))
        }
        return cls(columns, count, KeptTexts.read(reader, count) if reader.parameter("texts", bool) else None)


def _entry(entry: Any, key: str) -> str:
    value = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(value, str):
        raise FormatError(f"A field of the metadata must have a name and a kind. Got {entry!r:.80}.")
    return value
