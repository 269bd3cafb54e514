"""Records of a Parquet file, read by batches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, Generic

from vizsla.dataset_warning import Tally
from vizsla.errors import DataError
from vizsla.io.line_file import Line
from vizsla.io.source import Record


class ParquetSource(Generic[Record]):
    """Items or queries, one a row.

    Parameters
    ----------
    path : path
        The file.
    make : function of a row and its place
        Returns the row's record or raises a DataError.
    skip_errors : bool
        Leave out, and count, the rows that cannot be read.
    """

    def __init__(self, path: str | Path, make: Callable[[dict[str, Any], Line], Record], *, skip_errors: bool = False):
        self.name, self._path, self._make, self._skip = str(path), Path(path), make, skip_errors
        self._errors = 0
        self._first: DataError | None = None
        self._group: tuple[int, Any] = (-1, None)

    def __iter__(self) -> Iterator[Record]:
        return (record for _, record in self._walk())

    def place(self, number: int) -> Line:
        """Read again up to the record: only an error message pays for it."""
        return next(line for at, (line, _) in enumerate(self._walk()) if at == number)

    def pick(self, number: int) -> Record | None:
        """Read the row group that holds the record; the last one read stays in memory."""
        if self._errors:
            return None
        group = bisect_right(self._starts, number) - 1
        if self._group[0] != group:
            self._group = (group, self._file.read_row_group(group))
        row = self._group[1].slice(number - self._starts[group], 1).to_pylist()[0]
        return self._make(row, Line(self._path, number + 1))

    def report(self, tally: Tally) -> None:
        """Count unreadable rows."""
        tally.add(self._errors, f"unreadable rows skipped in {self.name}; the first: {self._first}")

    @property
    def _file(self) -> Any:
        from vizsla.io.parquet import open_parquet

        return open_parquet(self._path)

    @cached_property
    def _starts(self) -> list[int]:
        metadata = self._file.metadata
        return [0, *accumulate(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))]

    def _walk(self) -> Iterator[tuple[Line, Record]]:
        number, errors = 0, 0
        for batch in self._file.iter_batches(batch_size=2048):
            for row in batch.to_pylist():
                number += 1
                line = Line(self._path, number)
                try:
                    record = self._make(row, line)
                except DataError as error:
                    if not self._skip:
                        raise
                    errors += 1
                    self._first = self._first or error
                    continue
                yield line, record
        self._errors = errors
