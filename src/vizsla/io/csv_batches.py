"""CsvBatches: the rows of a table file, many at a time."""

from __future__ import annotations

from collections.abc import Iterator

from vizsla import _native
from vizsla.errors import DataError
from vizsla.io.csv_rows import CsvRows, RefuseLine
from vizsla.io.line_file import Block, Line, LineFile, Refuse
from vizsla.io.row_batch import RowBatch


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

    def _next_raw(self) -> tuple[bytes, int, int]:
        """Return a line as it stands, its number and its offset."""
        if self.position == len(self.block.data):
            self.block = next(self._blocks)
            self.position, self.number = 0, self.block.number
        start, number, data = self.position, self.number, self.block.data
        self.position, self.number = data.find(b"\n", start) + 1 or len(data), number + 1
        return data[start : self.position], number, self.block.offset + start
