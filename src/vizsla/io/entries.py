"""(query, item, weight) entries as they stand in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from vizsla.dataset_warning import Tally
from vizsla.errors import DataError
from vizsla.io.line_file import Line, LineFile

Entry = tuple[Line, str, str, float]
Parse = Callable[[Line], tuple[str, str, float]]


class Entries(Protocol):
    """Clicks or judgements that can be read again and again."""

    name: str

    def __iter__(self) -> Iterator[Entry]:
        """Read from the start: place, query, item, weight."""
        ...

    def report(self, tally: Tally) -> None:
        """Count what the last complete reading skipped."""
        ...


class ListEntries:
    """Entries in memory; they are counted from 1."""

    def __init__(self, entries: Iterable[tuple[str, str, float]], *, name: str):
        self.name, self._entries = name, list(entries)

    def __iter__(self) -> Iterator[Entry]:
        return ((Line(self.name, number), *entry) for number, entry in enumerate(self._entries, 1))

    def report(self, tally: Tally) -> None:
        """Nothing is ever skipped."""


class LineEntries:
    """Entries that stand one a line in a file.

    Parameters
    ----------
    path : path
        The file.
    read_head : function of the first Line
        Returns the function that parses a line, and whether the first line is a header.
    skip_errors : bool
        Leave out, and count, the lines that cannot be read.
    """

    def __init__(self, path: str | Path, read_head: Callable[[Line], tuple[Parse, bool]], *, skip_errors: bool = False):
        self.name, self._file = str(path), LineFile(path)
        self._read_head, self._skip = read_head, skip_errors
        self._blank, self._errors = 0, 0
        self._first: DataError | None = None

    def __iter__(self) -> Iterator[Entry]:
        parse: Parse | None = None
        self._blank, self._errors, count = 0, 0, 0
        for line in self._file:
            if not line.text.strip():
                self._blank += 1
                continue
            if parse is None:
                parse, header = self._read_head(line)
                if header:
                    continue
            entry = self._entry(parse, line)
            if entry is not None:
                count += 1
                yield (line, *entry)
        if not count:
            raise DataError("there are no entries.", path=self.name, remedy="Give at least one, or leave the file out.")

    def report(self, tally: Tally) -> None:
        """Count blank and unreadable lines."""
        tally.add(self._blank, f"blank lines skipped in {self.name}")
        tally.add(self._errors, f"unreadable lines skipped in {self.name}; the first: {self._first}")

    def _entry(self, parse: Parse, line: Line) -> tuple[str, str, float] | None:
        try:
            return parse(line)
        except DataError as error:
            if not self._skip:
                raise
            self._errors += 1
            self._first = self._first or error
            return None
