"""Rows of a table: fields between separators, in quotes where they hold one or a line end."""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Callable, Iterator

from vizsla.errors import DataError
from vizsla.io.limits import max_record_bytes
from vizsla.io.line_file import Line

PLAIN = 100_000
"""The csv module refuses fields above 2^17 characters; longer lines are taken apart here."""
MOST_LINES = 10_000
"""Of one record: a quote that is open for longer is a quote too many."""
_QUOTED = re.compile(r'[^"]*(?:""[^"]*)*"(?!")')

RefuseLine = Callable[[DataError, str], None]


class CsvRows:
    """Splits lines into rows of one width; what is no such row goes to `refuse`, a line at a time.

    A quote that never closes would swallow what follows it. So when a record of several lines turns out to be none,
    only its first line is refused, and reading goes on with the second.

    Parameters
    ----------
    lines : iterator of Line
        What to split.
    separator : str
        A comma, a semicolon, a tab, a bar.
    width : int, optional
        How many fields a row has; None for any number.
    quotes : bool
        Whether fields may be quoted.

    Examples
    --------
    >>> lines = iter([Line("a.csv", 1, '1,"a fig,'), Line("a.csv", 2, 'and more"'), Line("a.csv", 3, "2,pear")])
    >>> [fields for _, fields in CsvRows(lines, ",", width=2).read(print)]
    [['1', 'a fig,\\nand more'], ['2', 'pear']]
    """

    def __init__(self, lines: Iterator[Line], separator: str, *, width: int | None = None, quotes: bool = True):
        self._lines, self._separator, self._width, self._quotes = lines, separator, width, quotes
        self._waiting: deque[Line] = deque()
        self.blank = 0

    def read(self, refuse: RefuseLine) -> Iterator[tuple[Line, list[str]]]:
        """Yield every row with the line on which it begins."""
        separator, width, waiting, lines = self._separator, self._width, self._waiting, self._lines
        while (line := waiting.popleft() if waiting else next(lines, None)) is not None:
            text = line.text
            if self._quotes and '"' in text:
                fields = _once_quoted(text, separator) or self._quoted(line, refuse)
                if fields is None:
                    continue
            else:
                fields = text.split(separator)
                if len(fields) == 1 and not text.strip():
                    self.blank += 1
                    continue
            if width is not None and len(fields) != width:
                refuse(self._ragged(line, len(fields)), text)
                continue
            yield line, fields

    @property
    def waits(self) -> bool:
        """Whether lines were read ahead that are no rows yet."""
        return bool(self._waiting)

    def _next(self) -> Line | None:
        return self._waiting.popleft() if self._waiting else next(self._lines, None)

    def _quoted(self, line: Line, refuse: RefuseLine) -> list[str] | None:
        if len(line.text) < PLAIN and line.text.count('"') % 2 == 0:
            try:
                return next(csv.reader((line.text,), delimiter=self._separator, strict=True))
            except csv.Error:
                pass  # it may go on on the next line
        more: list[Line] = []
        try:
            fields = self._spelled(line, more)
            if more and self._width is not None and len(fields) != self._width:
                raise self._ragged(line, len(fields))
        except DataError as error:
            refuse(error, line.text)
            self._waiting.extendleft(reversed(more))
            return None
        return fields

    def _spelled(self, line: Line, more: list[Line]) -> list[str]:
        """Take a record apart field by field; `more` receives the lines that it goes on to."""
        fields: list[str] = []
        text, at = line.text, 0
        while True:
            if text.startswith('"', at):
                text, end = self._closed(line, text, at, more)
                fields.append(text[at + 1 : end - 1].replace('""', '"'))
            else:
                end = text.find(self._separator, at)
                end = len(text) if end < 0 else end
                fields.append(text[at:end])
            if end == len(text):
                return fields
            if not text.startswith(self._separator, end):
                raise line.error("a quoted field goes on behind its quote.", "Double the quotes inside of a field.")
            at = end + 1

    def _closed(self, line: Line, text: str, at: int, more: list[Line]) -> tuple[str, int]:
        """Return the record's text so far, and where the field that is quoted from `at` on ends."""
        found = _QUOTED.match(text, at + 1)
        parts, held, most = [text], len(text), max_record_bytes()
        ending = (more[-1] if more else line).end
        while found is None:
            following = self._next() if len(more) < MOST_LINES else None
            if following is None:
                raise line.error("a quote is not closed.", "Close it, or double the quotes inside of a field.")
            more.append(following)
            parts += [ending, following.text]
            ending = following.end
            held += len(following.text)
            if held > most:
                raise line.error(f"a quote is not closed within {most >> 20} MB.", "Close it.")
            if '"' in following.text:
                text = "".join(parts)
                parts, found = [text], _QUOTED.match(text, at + 1)
        return text, found.end()

    def _ragged(self, line: Line, count: int) -> DataError:
        return line.error(f"expected {self._width} columns, as in the header. Got {count}.", "Repair the line.")


def _once_quoted(text: str, separator: str) -> list[str] | None:
    """Return the fields of a row that is quoted in one place only, as most are; None for any other."""
    if text.count('"') != 2:
        return None
    first, last = text.find('"'), text.rfind('"')
    if (first and text[first - 1] != separator) or (last + 1 < len(text) and text[last + 1] != separator):
        return None
    before = text[: first - 1].split(separator) if first else []
    after = text[last + 2 :].split(separator) if last + 1 < len(text) else []
    return [*before, text[first + 1 : last], *after]
