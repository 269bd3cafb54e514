"""Entries of clicks and judgements: a query, an item and a number, with their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple, Protocol

from vizsla._native import EntryFormat
from vizsla.dataset_warning import Tally
from vizsla.errors import DataError
from vizsla.io.line_file import Block, Line, LineFile
from vizsla.io.pairs import Pairs


class Entries(Protocol):
    """Clicks or judgements that can be read again and again."""

    name: str

    def into(self, pairs: Pairs) -> None:
        """Read from the start and add everything to `pairs`."""
        ...

    def report(self, tally: Tally) -> None:
        """Count what the last complete reading skipped."""
        ...


class ListEntries:
    """Entries in memory; they are counted from 1."""

    def __init__(self, entries: Iterable[tuple[str, str, float]], *, name: str):
        self.name, self._entries = name, list(entries)

    def into(self, pairs: Pairs) -> None:
        """Add them all."""
        for number, entry in enumerate(self._entries, 1):
            pairs.add(Line(self.name, number), *entry)

    def report(self, tally: Tally) -> None:
        """Nothing is ever skipped."""


class EntryLines(NamedTuple):
    """How the lines of a file are read, told by its first line.

    Parameters
    ----------
    parse : function of a Line
        Returns query, item and value, or raises a DataError.
    format : EntryFormat
        The same for the native reader, which reads the plain lines among them.
    header : bool
        Whether the first line is a header.
    """

    parse: Callable[[Line], tuple[str, str, float]]
    format: EntryFormat
    header: bool = False


class LineEntries:
    """Entries that stand one a line in a file.

    Blocks of lines go to the native reader. It stops at every line that it cannot vouch for; `parse` has the last word
    on that line, so that all rules and errors are in one place.

    Parameters
    ----------
    path : path
        The file.
    read_head : function of the first Line
        Returns how the lines are read.
    skip_errors : bool
        Leave out, and count, the lines that cannot be read.
    """

    def __init__(self, path: str | Path, read_head: Callable[[Line], EntryLines], *, skip_errors: bool = False):
        self.name, self._file = str(path), LineFile(path)
        self._read_head, self._skip = read_head, skip_errors
        self._blank, self._errors = 0, 0
        self._first: DataError | None = None

    def into(self, pairs: Pairs) -> None:
        """Read the file once; a file without entries raises."""
        self._blank, self._errors, before = 0, 0, pairs.seen
        lines: EntryLines | None = None
        for block in self._file.blocks():
            lines = self._read(block, lines, pairs)
        if pairs.seen == before:
            raise DataError("there are no entries.", path=self.name, remedy="Give at least one, or leave the file out.")

    def report(self, tally: Tally) -> None:
        """Count blank and unreadable lines."""
        tally.add(self._blank, f"blank lines skipped in {self.name}")
        tally.add(self._errors, f"unreadable lines skipped in {self.name}; the first: {self._first}")

    def _read(self, block: Block, lines: EntryLines | None, pairs: Pairs) -> EntryLines | None:
        at, number = 0, block.number
        while True:
            if lines is not None:
                at, number, blank = pairs.read(block.data, at, number, lines.format)
                self._blank += blank
            if at == len(block.data):
                return lines
            end = block.data.find(b"\n", at) + 1 or len(block.data)
            lines = self._read_line(self._file.line(block.data[at:end], number, block.offset + at), lines, pairs)
            at, number = end, number + 1

    def _read_line(self, line: Line, lines: EntryLines | None, pairs: Pairs) -> EntryLines | None:
        if not line.text.strip():
            self._blank += 1
            return lines
        if lines is None:
            lines = self._read_head(line)
            if lines.header:
                return lines
        try:
            entry = lines.parse(line)
        except DataError as error:
            if not self._skip:
                raise
            self._errors += 1
            self._first = self._first or error
            return lines
        pairs.add(line, *entry)
        return lines
