"""Records of a Parquet file, read by batches."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any, Generic

from vizsla.cached_property import cached_property
from vizsla.dataset_warning import Tally
from vizsla.errors import DataError
from vizsla.io.line_file import Line
from vizsla.io.parquet_rows import readable, rows_of
from vizsla.io.reading import STRICT, Reading
from vizsla.io.refusals import Refusals
from vizsla.io.source import Record


class ParquetSource(Generic[Record]):
    """Items or queries, one a row.

    Parameters
    ----------
    path : path
        The file.
    make : function of a row and its place
        Returns the row's record or raises a DataError.
    how : Reading
        What becomes of rows that cannot be read.
    """

    def __init__(self, path: str | Path, make: Callable[[dict[str, Any], Line], Record], *, how: Reading = STRICT):
        self.name, self._path, self._make = str(path), Path(path), make
        self._refusals = Refusals(how, str(path), what="rows")
        self._group: tuple[int, Any] = (-1, None)

    def __iter__(self) -> Iterator[Record]:
        return (record for _, record in self._walk())

    def place(self, number: int) -> Line:
        """Read again up to the record: only an error message pays for it."""
        return next(line for at, (line, _) in enumerate(self._walk()) if at == number)

    def pick(self, number: int) -> Record | None:
        """Read the row group that holds the record; the last one read stays in memory."""
        if self._refusals.count:
            return None
        group = bisect_right(self._starts, number) - 1
        if self._group[0] != group:
            with readable(self._path):
                self._group = (group, self._file.read_row_group(group))
        with readable(self._path):
            row = self._group[1].slice(number - self._starts[group], 1).to_pylist()[0]
        return self._make(row, Line(self._path, number + 1))

    def report(self, tally: Tally) -> None:
        """Count unreadable rows."""
        self._refusals.report(tally)

    @property
    def _file(self) -> Any:
        from vizsla.io.parquet import open_parquet

        return open_parquet(self._path)

    @cached_property
    def _starts(self) -> list[int]:
        metadata = self._file.metadata
        return [0, *accumulate(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))]

    def _walk(self) -> Iterator[tuple[Line, Record]]:
        self._refusals.begin()
        for number, row in enumerate(rows_of(self._file, self._path), 1):
            line = Line(self._path, number)
            try:
                record = self._make(row, line)
            except DataError as error:
                self._refusals.add(error, json.dumps(row, ensure_ascii=False, default=str))
            else:
                yield line, record
