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
from vizsla.io.reading import STRICT, Reading
from vizsla.io.refusals import Refusals

Entry = tuple[str, str, float] | tuple[str, str, float, float]
"""Query, item, value, and perhaps the time in seconds since 1970."""


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

    def __init__(self, entries: Iterable[Entry], *, name: str):
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
        Returns query, item, value and time (seconds since 1970, NaN without one), or raises a DataError.
    format : EntryFormat
        The same for the native reader, which reads the plain lines among them.
    header : bool
        Whether the first line is a header.
    """

    parse: Callable[[Line], Entry]
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
    how : Reading
        The encoding, and what becomes of lines that cannot be read.
    """

    def __init__(self, path: str | Path, read_head: Callable[[Line], EntryLines], *, how: Reading = STRICT):
        self.name, self._file = str(path), LineFile(path, encoding=how.encoding)
        self._read_head, self._refusals, self._blank = read_head, Refusals(how, str(path)), 0

    def into(self, pairs: Pairs) -> None:
        """Read the file once; a file without entries raises."""
        self._blank, before = 0, pairs.seen
        self._refusals.begin()
        lines: EntryLines | None = None
        for block in self._file.blocks():
            lines = self._read(block, lines, pairs)
        if pairs.seen == before:
            raise DataError("there are no entries.", path=self.name, remedy="Give at least one, or leave the file out.")

    def report(self, tally: Tally) -> None:
        """Count blank and unreadable lines."""
        tally.add(self._blank, f"blank lines skipped in {self.name}")
        self._refusals.report(tally)

    def _read(self, block: Block, lines: EntryLines | None, pairs: Pairs) -> EntryLines | None:
        at, number = 0, block.number
        while True:
            if lines is not None:
                at, number, blank = pairs.read(block.data, at, number, lines.format)
                self._blank += blank
            if at == len(block.data):
                return lines
            end = block.data.find(b"\n", at) + 1 or len(block.data)
            lines = self._read_line(block.data[at:end], number, block.offset + at, lines, pairs)
            at, number = end, number + 1

    def _read_line(
        self, raw: bytes, number: int, offset: int, lines: EntryLines | None, pairs: Pairs
    ) -> EntryLines | None:
        """Read one line by Python's rules, which have the last word; a head that cannot be read raises."""
        try:
            line = self._file.line(raw, number, offset)
            if not line.text.strip():
                self._blank += 1
                return lines
            if lines is None:
                lines = self._read_head(line)
                if lines.header:
                    return lines
            entry = lines.parse(line)
        except DataError as error:
            if lines is None:
                raise
            self._refusals.add(error, raw)
            return lines
        pairs.add(line, *entry)
        return lines
