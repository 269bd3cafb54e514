"""Records in a file of lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from vizsla.dataset_warning import Tally
from vizsla.errors import DataError
from vizsla.io.line_file import Line, LineFile
from vizsla.io.source import Record


class LineSource(Generic[Record]):
    """Records that stand one a line in a file.

    Parameters
    ----------
    file : LineFile
        The file.
    parse : function of a Line
        Returns the line's record or raises a DataError.
    skip_errors : bool
        Leave out, and count, the lines that cannot be read.
    """

    def __init__(self, file: LineFile, parse: Callable[[Line], Record], *, skip_errors: bool = False):
        self.name, self._file, self._parse, self._skip = str(file.path), file, parse, skip_errors
        self._blank, self._errors = 0, 0
        self._first: DataError | None = None

    def __iter__(self) -> Iterator[Record]:
        return (record for _, record in self._walk())

    def place(self, number: int) -> Line:
        """Read again up to the record: only an error message pays for it."""
        return next(line for at, (line, _) in enumerate(self._walk()) if at == number)

    def pick(self, number: int) -> Record | None:
        """Jump to the record; a gzipped file cannot jump."""
        if self._file.gzipped:
            return None
        return self._parse(self._file.at(int(self._offsets[number])))

    def report(self, tally: Tally) -> None:
        """Count blank and unreadable lines."""
        tally.add(self._blank, f"blank lines skipped in {self.name}")
        tally.add(self._errors, f"unreadable lines skipped in {self.name}; the first: {self._first}")

    @cached_property
    def _offsets(self) -> NDArray[np.int64]:
        if self._skip:
            return np.fromiter((line.offset for line, _ in self._walk()), dtype=np.int64)
        return np.fromiter((line.offset for line in self._file if line.text.strip()), dtype=np.int64)

    def _walk(self) -> Iterator[tuple[Line, Record]]:
        blank, errors = 0, 0
        for line in self._file:
            if not line.text.strip():
                blank += 1
                continue
            try:
                record = self._parse(line)
            except DataError as error:
                if not self._skip:
                    raise
                errors += 1
                self._first = self._first or error
                continue
            yield line, record
        self._blank, self._errors = blank, errors
