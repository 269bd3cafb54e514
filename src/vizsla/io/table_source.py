"""Items or queries in a table with a header: CSV, TSV and their like."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from operator import itemgetter
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from vizsla.dataset_warning import Tally
from vizsla.errors import DataError
from vizsla.io.csv_rows import CsvRows
from vizsla.io.fields import ITEM_FIELDS, Fields
from vizsla.io.line_file import Line, LineFile
from vizsla.io.reading import STRICT, Reading
from vizsla.io.refusals import Refusals
from vizsla.io.source import Record
from vizsla.io.table_head import TableHead, separator_of, table_head
from vizsla.item import NO_METADATA, Item
from vizsla.query import Query


class TableSource(Generic[Record]):
    """Items, or queries, one a row.

    Parameters
    ----------
    file : LineFile
        The file.
    fields : Fields
        Which columns are id, text, title and metadata.
    how : Reading
        What becomes of rows that cannot be read.
    separator : str, optional
        What stands between columns; told by the header unless given.
    maker : function of a TableHead
        Returns what makes a record of a row.
    """

    def __init__(
        self,
        file: LineFile,
        maker: Callable[[TableHead], Callable[[Line, list[str]], Record]],
        *,
        fields: Fields = ITEM_FIELDS,
        how: Reading = STRICT,
        separator: str | None = None,
    ):
        self.name, self._file, self._how = file.name, file, how
        self._refusals, self._blank = Refusals(how, file.name), 0
        first = next((line for line in file if line.text.strip()), None)
        if first is None:
            raise DataError("there are no items.", path=file.name, remedy="Give at least one.")
        self._first, self._separator = first, separator or separator_of(first)
        self.head = table_head(self._header(), fields, first)
        self._make = maker(self.head)

    def __iter__(self) -> Iterator[Record]:
        return (item for _, item in self._walk())

    def place(self, number: int) -> Line:
        """Read again up to the record: only an error message pays for it."""
        return next(line for at, (line, _) in enumerate(self._walk()) if at == number)

    def pick(self, number: int) -> Record | None:
        """Jump to the record; a packed file cannot jump."""
        if not self._file.jumps:
            return None
        rows = self._rows(self._file.lines_from(int(self._offsets[number])))
        return self._make(*next(rows.read(_raise)))

    def report(self, tally: Tally) -> None:
        """Count blank and unreadable lines."""
        tally.add(self._blank, f"blank lines skipped in {self.name}")
        self._refusals.report(tally)

    def _header(self) -> list[str]:
        lines = self._file.lines_from(self._first.offset) if self._file.jumps else iter([self._first])
        rows = CsvRows(lines, self._separator, quotes=self._separator != "\t")
        return next(rows.read(_raise))[1]

    def _rows(self, lines: Iterator[Line]) -> CsvRows:
        return CsvRows(lines, self._separator, width=len(self.head.names), quotes=self._separator != "\t")

    @cached_property
    def _offsets(self) -> NDArray[np.int64]:
        return np.fromiter((line.offset for line, _ in self._walk()), dtype=np.int64)

    def _walk(self) -> Iterator[tuple[Line, Record]]:
        refusals, make, first = self._refusals, self._make, self._first.number
        refusals.begin()
        rows = self._rows(self._file.lines(refusals.add))
        for line, fields in rows.read(refusals.add):
            if line.number == first:
                continue
            try:
                item = make(line, fields)
            except DataError as error:
                refusals.add(error, line.text)
            else:
                yield line, item
        self._blank = rows.blank


def item_maker(head: TableHead) -> Callable[[Line, list[str]], Item]:
    """Return what makes an item of a row."""
    id_at, title_at, texts = head.id, head.title, head.text
    names, places = tuple(head.names[at] for at in head.meta), head.meta
    text_at = texts[0] if len(texts) == 1 else None
    several = itemgetter(*places, places[0]) if places else tuple  # one more, or a single place would give no tuple

    def make(line: Line, fields: list[str]) -> Item:
        id = fields[id_at]
        if not id.strip():
            raise line.error("the id is empty.", "Repair the line.")
        text = fields[text_at] if text_at is not None else " ".join([fields[at] for at in texts if fields[at]])
        title = "" if title_at is None else fields[title_at]
        return Item(id, text, title, dict(zip(names, several(fields))) if names else NO_METADATA)  # noqa: B905

    return make


def query_maker(head: TableHead) -> Callable[[Line, list[str]], Query]:
    """Return what makes a query of a row."""
    make_item = item_maker(head)

    def make(line: Line, fields: list[str]) -> Query:
        item = make_item(line, fields)
        return Query(item.id, item.text, item.metadata)

    return make


def _raise(error: DataError, text: str) -> None:
    raise error
