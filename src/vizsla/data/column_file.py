"""All columns of the metadata in one file, each read when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla.data.columns import COLUMNS, Column, Segments
from vizsla.errors import FormatError, InputError

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

DATA, PLACES = "columns", "column_places"
MOST_COLUMNS = 10_000
PARTS = 5
"""Arrays of a column at most."""
WIDTH = 2 + 2 * (1 + PARTS)
"""Numbers that a file has for a column: kind, settings, and two for its name and for each array."""
ALIGNMENT = 8


def write_columns(writer: ArtifactWriter, columns: Mapping[str, Column]) -> None:
    """Store columns as `columns.npy`, all bytes one after another, and `column_places.npy`, a row per column.

    A row holds the number of the column's kind, its settings, and where its name and each of its arrays begin and end.
    """
    places = np.zeros((len(columns), WIDTH), np.int64)
    parts: list[NDArray[np.uint8]] = []
    end = 0
    for row, (name, column) in zip(places, columns.items(), strict=True):
        row[:2] = COLUMNS.index(type(column)), column.settings
        for at, segment in enumerate([_encoded(name), *column.segments()]):
            data = np.ascontiguousarray(segment).reshape(-1).view(np.uint8)
            row[2 + 2 * at : 4 + 2 * at] = end, end + len(data)
            padding = -len(data) % ALIGNMENT
            parts += [data, np.zeros(padding, np.uint8)]
            end += len(data) + padding
    writer.array(DATA, np.concatenate(parts) if parts else np.zeros(0, np.uint8))
    writer.array(PLACES, places)


def _encoded(name: str) -> NDArray[np.uint8]:
    try:
        return np.frombuffer(name.encode(), np.uint8)
    except UnicodeEncodeError:
        raise InputError(f"The name of a field must be valid Unicode. Got {name!r:.60}.") from None


def read_columns(reader: ArtifactReader, count: int) -> ColumnFile:
    """Return the columns of a file; names and places are checked now, a column when it is read first."""
    data, places = reader.array(DATA, np.uint8), reader.array(PLACES, np.int64, ndim=2)
    source = str(reader.path / f"{DATA}.npy")
    if places.shape[0] > MOST_COLUMNS or places.shape[1] != WIDTH:
        raise FormatError(f"{source}: the places of the columns are not sound.")
    starts, ends = places[:, 2::2], places[:, 3::2]
    kinds = places[:, 0]
    inside = (starts >= 0) & (starts <= ends) & (ends <= len(data)) & (starts % ALIGNMENT == 0)
    if not inside.all() or not ((kinds >= 0) & (kinds < len(COLUMNS))).all():
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
        column = COLUMNS[kind].of_segments(Segments(parts, self._count, self._source))
        try:
            column.set(settings)
        except ValueError as error:
            raise FormatError(f"{self._source}: {error}. Got {settings}.") from None
        return column
