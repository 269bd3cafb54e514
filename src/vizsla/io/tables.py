"""CSV and TSV tables as records."""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, dropwhile, islice
from operator import itemgetter
from typing import Generic, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.lazy import cached_property
from vizsla.core.catalog import NO_METADATA, Item, Query
from vizsla.core.validation import WarningLog
from vizsla.errors import DataError
from vizsla.io.bad_lines import STRICT_READING, BadLines, Reading
from vizsla.io.fields import ITEM_FIELDS, Fields
from vizsla.io.files import Block, Line, LineFile, Refuse, max_record_bytes
from vizsla.io.records import Record

MAX_CSV_MODULE_CHARS = 100_000
"""The csv module refuses fields above 2^17 characters; longer lines are taken apart here."""
MAX_LINES_PER_RECORD = 10_000
"""Of one record: a quote that is open for longer is a quote too many."""
_EMPTY = re.compile(rb"\n*")
_QUOTED = re.compile(r'[^"]*(?:""[^"]*)*"(?!")')

RefuseLine = Callable[[DataError, str], None]


class CsvRows:
    """Splits lines into rows of one width; what is no such row goes to `refuse`, a line at a time.

    A quote that never closes would swallow what follows it. So when a record of several lines turns out to be none,
    only its first line is refused, and reading goes on with the second.

    Parameters
    ----------
    lines : iterator of Line
        The text to split.
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
                    if not waiting and isinstance(lines, _Lines):
                        self.blank += lines.skip_blank()
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
        if len(line.text) < MAX_CSV_MODULE_CHARS and line.text.count('"') % 2 == 0:
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
            following = self._next() if len(more) < MAX_LINES_PER_RECORD else None
            if following is None:
                raise line.error("a quote is not closed.", "Close it, or double the quotes inside of a field.")
            more.append(following)
            parts += [ending, following.text]
            ending = following.end
            held += len(following.text)
            if held > most:
                raise line.error(f"a quote is not closed within {most >> 20} MB.", "Close it.")
            # Pairs of quotes do not go over the end of a line, so each line is looked at once.
            found = _QUOTED.match(following.text)
        if len(parts) == 1:
            return text, found.end()
        text = "".join(parts)
        return text, len(text) - len(parts[-1]) + found.end()

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


class RowBatch(NamedTuple):
    """Rows with what is needed to say where they are: only an error, or a jump, asks for that.

    Examples
    --------
    >>> batch = RowBatch.single(Line("items.csv", 3, "1,a fig", 17), ["1", "a fig"])
    >>> batch.rows, batch.line(0).number
    ([['1', 'a fig']], 3)
    """

    rows: list[list[str]]
    path: str
    data: bytes
    """The block that the rows are in; it begins at `offset`."""
    offset: int
    starts: NDArray[np.int64]
    numbers: NDArray[np.int64]

    @classmethod
    def single(cls, line: Line, fields: list[str]) -> Self:
        """Return one row as a batch."""
        raw = (line.text + line.end).encode()
        return cls([fields], str(line.path), raw, line.offset, np.zeros(1, int), np.array([line.number]))

    def line(self, at: int) -> Line:
        """Return the line on which a row begins."""
        start = int(self.starts[at])
        end = self.data.find(b"\n", start)
        raw = self.data[start : len(self.data) if end < 0 else end]
        ending = "\r\n" if raw.endswith(b"\r") else "\n"
        return Line(self.path, int(self.numbers[at]), raw.removesuffix(b"\r").decode(), self.offset + start, ending)

    def without(self, refused: Sequence[int]) -> RowBatch:
        """Return the batch without these rows."""
        kept = np.setdiff1d(np.arange(len(self.rows)), refused)
        rows = [self.rows[at] for at in kept.tolist()]
        return self._replace(rows=rows, starts=self.starts[kept], numbers=self.numbers[kept])


class CsvBatches:
    """Reads a table; rows that are as they should be are split in native code, all others by `CsvRows`, which says why.

    Parameters
    ----------
    file : LineFile
        The table, its header among the rows.
    separator : str
        A comma, a semicolon, a tab, a bar.
    width : int
        How many fields a row has.
    quotes : bool
        Whether fields may be quoted.
    """

    def __init__(self, file: LineFile, separator: str, *, width: int, quotes: bool):
        self._file, self._separator, self._width, self._quotes = file, separator, width, quotes
        self.blank = 0

    def read(self, refuse_line: RefuseLine, refuse_bytes: Refuse) -> Iterator[RowBatch]:
        """Yield every row, in batches; what is no row, or no text, is refused."""
        lines = _Lines(self._file, refuse_bytes)
        slow = CsvRows(lines, self._separator, width=self._width, quotes=self._quotes)
        native = self._width > 1 and len(self._separator.encode()) == 1
        for line, fields in slow.read(refuse_line):
            yield RowBatch.single(line, fields)
            if native and not slow.waits and (batch := self._rows(lines)).rows:
                yield batch
        self.blank = slow.blank

    def _rows(self, lines: _Lines) -> RowBatch:
        """Split what is left of a block, up to an odd row."""
        block = lines.block
        rows, starts, numbers, lines.position, lines.number = _native.csv_rows(
            block.data, lines.position, lines.number, separator=self._separator, quotes=self._quotes, width=self._width
        )
        return RowBatch(rows, self._file.name, block.data, block.offset, starts, numbers)


class _Lines(Iterator[Line]):
    """The lines of a file, one by one, and what is left of the block that the last one was in."""

    def __init__(self, file: LineFile, refuse: Refuse):
        self._file, self._refuse, self._blocks = file, refuse, file.blocks()
        self.block, self.position, self.number = Block(b"", 1, 0), 0, 1

    def __next__(self) -> Line:
        while True:
            raw, number, offset = self._next_raw()
            try:
                return self._file.line(raw, number, offset)
            except DataError as error:
                self._refuse(error, raw)

    def skip_blank(self) -> int:
        """Pass over empty lines of this block at once; return how many there were."""
        found = _EMPTY.match(self.block.data, self.position)
        count = found.end() - found.start() if found is not None else 0
        self.position, self.number = self.position + count, self.number + count
        return count

    def _next_raw(self) -> tuple[bytes, int, int]:
        """Return a line as it stands, its number and its offset."""
        if self.position == len(self.block.data):
            self.block = next(self._blocks)
            self.position, self.number = 0, self.block.number
        start, number, data = self.position, self.number, self.block.data
        self.position, self.number = data.find(b"\n", start) + 1 or len(data), number + 1
        return data[start : self.position], number, self.block.offset + start


SEPARATORS = (",", ";", "\t", "|")
MAX_NAMED_COLUMNS = 40
"""Columns of metadata that are named when a table is opened."""


class TableHead(NamedTuple):
    """Which column of a table is what.

    Parameters
    ----------
    names : tuple of str
        All columns.
    id : int
        The column of the id.
    text : tuple of int
        The columns whose texts are joined.
    title : int or None
        The column of the title.
    meta : tuple of int
        The columns that are kept as metadata.
    """

    names: tuple[str, ...]
    id: int
    text: tuple[int, ...]
    title: int | None
    meta: tuple[int, ...]

    def __str__(self) -> str:
        texts = ([] if self.title is None else [self.title]) + list(self.text)
        said = [f"id {self.names[self.id]}", f"text {' + '.join(self.names[at] for at in texts)}"]
        if self.meta:
            named = [self.names[at] for at in self.meta[:MAX_NAMED_COLUMNS]]
            more = [f"and {len(self.meta) - len(named):,} more"] * (len(self.meta) > len(named))
            said.append(f"metadata {', '.join([*named, *more])}")
        return "; ".join(said)


def separator_of(line: Line) -> str:
    """Return what stands between the names of a header: the most frequent of comma, semicolon, tab and bar."""
    return max(SEPARATORS, key=lambda separator: (line.text.count(separator), -SEPARATORS.index(separator)))


def table_head(names: Sequence[str], fields: Fields, line: Line) -> TableHead:
    """Say which column is what, by the names that the user gave, or else by the usual ones; raise if that fails.

    Examples
    --------
    >>> from vizsla.io.fields import ITEM_FIELDS
    >>> print(table_head(["SKU", "Title", "Description", "Price"], ITEM_FIELDS, Line("items.csv", 1)))
    id SKU; text Title + Description; metadata Price
    """
    known = _numbered(names, line)
    if fields.given:  # a name that stands alone is the user's, and must be there
        _all(known, [usual[0] for usual in (fields.id, fields.title) if len(usual) == 1], line)
    id = _first(known, fields.id)
    title = _first(known, fields.title)
    text = _all(known, fields.text, line) if fields.joined else _some(_first(known, fields.text))
    if id is None or not (text or title is not None):
        missing = "an id" if id is None else "a text"
        listed = ", ".join(map(repr, names[:12]))
        remedy = "Name the columns: id and text (on the command line --id and --text)."
        raise line.error(f"no column of the header is known as {missing}. Got {listed}.", remedy)
    used = {id, title, *(text if len(text) == 1 else ())}
    if fields.meta is None:
        meta = tuple(at for at in range(len(names)) if at not in used)
    else:
        meta = _all(known, fields.meta, line)
    stripped = tuple(name.strip() or f"column {at + 1}" for at, name in enumerate(names))
    return TableHead(stripped, id, text, title, meta)


def _numbered(names: Sequence[str], line: Line) -> dict[str, int]:
    known: dict[str, int] = {}
    for at, name in enumerate(names):
        word = name.strip()
        if word and word in known:
            raise line.error(f"every column must have a name of its own. Got {word!r} twice.", "Rename one of them.")
        known[word] = at
    return known | {name.lower(): at for name, at in known.items() if name.lower() not in known}


def _first(known: dict[str, int], names: Sequence[str]) -> int | None:
    return next((known[name] for name in (*names, *map(str.lower, names)) if name in known), None)


def _all(known: dict[str, int], names: Sequence[str], line: Line) -> tuple[int, ...]:
    missing = next((name for name in names if _first(known, [name]) is None), None)
    if missing is not None:
        raise line.error(f"there is no column {missing!r}. Got {', '.join(map(repr, known))}.", "Check the names.")
    return tuple(known[name] if name in known else known[name.lower()] for name in names)


def _some(at: int | None) -> tuple[int, ...]:
    return () if at is None else (at,)


class TableSource(Generic[Record]):
    """Items, or queries, one a row.

    Parameters
    ----------
    file : LineFile
        The file.
    fields : Fields
        Which columns are id, text, title and metadata.
    how : Reading
        What to do with unreadable rows.
    separator : str, optional
        The separator of columns; detected from the header unless given.
    maker : function of a TableHead
        Returns what makes a record of a row.
    """

    def __init__(
        self,
        file: LineFile,
        maker: Callable[[TableHead], Callable[[list[str]], Record]],
        *,
        fields: Fields = ITEM_FIELDS,
        how: Reading = STRICT_READING,
        separator: str | None = None,
    ):
        self.name, self._file, self._how = file.name, file, how
        self._refusals, self._blank = BadLines(how, file.name), 0
        first = next((line for line in file if line.text.strip()), None)
        if first is None:
            raise DataError("there are no items.", path=file.name, remedy="Give at least one.")
        self._first, self._separator = first, separator or separator_of(first)
        self._quotes = self._separator != "\t"
        self.head = table_head(self._header(), fields, first)
        self._make = maker(self.head)

    def __iter__(self) -> Iterator[Record]:
        return chain.from_iterable(map(self._make, batch.rows) for batch in self._batches())

    def place(self, number: int) -> Line:
        """Read again up to the record: only an error message pays for it."""
        for batch in self._batches():
            if number < len(batch.rows):
                return batch.line(number)
            number -= len(batch.rows)
        raise IndexError(number)

    def pick(self, number: int) -> Record | None:
        """Jump to the record; a packed file cannot jump."""
        if not self._file.jumps:
            return None
        return self._make(self._first_row(self._file.lines_from(int(self._offsets[number]))))

    def report(self, tally: WarningLog) -> None:
        """Count blank and unreadable lines."""
        tally.add(self._blank, f"blank lines skipped in {self.name}")
        self._refusals.report(tally)

    def _header(self) -> list[str]:
        if self._file.jumps:
            return self._first_row(self._file.lines_from(self._first.offset))
        return self._first_row(dropwhile(lambda line: line.number < self._first.number, self._file))

    def _first_row(self, lines: Iterator[Line]) -> list[str]:
        return next(CsvRows(lines, self._separator, quotes=self._quotes).read(_raise))[1]

    @cached_property
    def _offsets(self) -> NDArray[np.int64]:
        return np.concatenate([batch.starts + batch.offset for batch in self._batches()])

    def _batches(self) -> Iterator[RowBatch]:
        """Yield the rows below the header that have an id."""
        refusals = self._refusals
        refusals.begin()
        table = CsvBatches(self._file, self._separator, width=len(self.head.names), quotes=self._quotes)
        for batch in islice(table.read(refusals.add, refusals.add), 1, None):  # the first one is the header
            yield self._named(batch)
        self._blank = table.blank

    def _named(self, batch: RowBatch) -> RowBatch:
        """Refuse the rows without an id."""
        ids = [row[self.head.id] for row in batch.rows]
        if all(map(str.strip, ids)):
            return batch
        nameless = [at for at, id in enumerate(ids) if not id.strip()]
        for line in map(batch.line, nameless):
            self._refusals.add(line.error("the id is empty.", "Repair the line."), line.text)
        return batch.without(nameless)


def item_maker(head: TableHead) -> Callable[[list[str]], Item]:
    """Return what makes an item of a row."""
    id_at, title_at, texts = head.id, head.title, head.text
    names, places = tuple(head.names[at] for at in head.meta), head.meta
    text_at = texts[0] if len(texts) == 1 else None
    several = itemgetter(*places, places[0]) if places else tuple  # one more, or a single place would give no tuple
    made = partial(tuple.__new__, Item)  # what Item does in the end, at half the cost

    def make(fields: list[str]) -> Item:
        text = fields[text_at] if text_at is not None else " ".join([fields[at] for at in texts if fields[at]])
        title = "" if title_at is None else fields[title_at]
        metadata = dict(zip(names, several(fields))) if names else NO_METADATA  # noqa: B905
        return made((fields[id_at], text, title, metadata))

    return make


def query_maker(head: TableHead) -> Callable[[list[str]], Query]:
    """Return what makes a query of a row."""
    make_item = item_maker(head)

    def make(fields: list[str]) -> Query:
        item = make_item(fields)
        return Query(item.id, item.text, item.metadata)

    return make


def _raise(error: DataError, text: str) -> None:
    raise error
