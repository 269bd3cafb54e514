"""Records in a file of lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from vizsla.cached_property import cached_property
from vizsla.dataset_warning import Tally
from vizsla.errors import DataError
from vizsla.io.line_file import Line, LineFile
from vizsla.io.reading import STRICT, Reading
from vizsla.io.refusals import Refusals
from vizsla.io.source import Record


class LineSource(Generic[Record]):
    """Records that stand one a line in a file.

    Parameters
    ----------
    file : LineFile
        The file.
    parse : function of a Line
        Returns the line's record or raises a DataError.
    how : Reading
        What becomes of lines that cannot be read.
    """

    def __init__(self, file: LineFile, parse: Callable[[Line], Record], *, how: Reading = STRICT):
        self.name, self._file, self._parse, self._skips = file.name, file, parse, how.skips
        self._blank, self._refusals = 0, Refusals(how, file.name)

    def __iter__(self) -> Iterator[Record]:
        return (record for _, record in self._walk())

    def place(self, number: int) -> Line:
        """Read again up to the record: only an error message pays for it."""
        return next(line for at, (line, _) in enumerate(self._walk()) if at == number)

    def pick(self, number: int) -> Record | None:
        """Jump to the record; a packed file cannot jump."""
        if not self._file.jumps:
            return None
        return self._parse(self._file.at(int(self._offsets[number])))

    def report(self, tally: Tally) -> None:
        """Count blank and unreadable lines."""
        tally.add(self._blank, f"blank lines skipped in {self.name}")
        self._refusals.report(tally)

    @cached_property
    def _offsets(self) -> NDArray[np.int64]:
        if self._skips:
            return np.fromiter((line.offset for line, _ in self._walk()), dtype=np.int64)
        return np.fromiter((line.offset for line in self._file if line.text.strip()), dtype=np.int64)

    def _walk(self) -> Iterator[tuple[Line, Record]]:
        blank = 0
        self._refusals.begin()
        for line in self._file.lines(self._refusals.add):
            if not line.text.strip():
                blank += 1
                continue
            try:
                record = self._parse(line)
            except DataError as error:
                self._refusals.add(error, line.text)
            else:
                yield line, record
        self._blank = blank
