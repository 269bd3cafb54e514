"""Items or queries in a table with a header: CSV, TSV and their like."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, dropwhile, islice
from operator import itemgetter
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from vizsla.cached_property import cached_property
from vizsla.dataset_warning import Tally
from vizsla.errors import DataError
from vizsla.io.csv_batches import CsvBatches
from vizsla.io.csv_rows import CsvRows
from vizsla.io.fields import ITEM_FIELDS, Fields
from vizsla.io.line_file import Line, LineFile
from vizsla.io.reading import STRICT, Reading
from vizsla.io.refusals import Refusals
from vizsla.io.row_batch import RowBatch
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
        maker: Callable[[TableHead], Callable[[list[str]], Record]],
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

    def report(self, tally: Tally) -> None:
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
