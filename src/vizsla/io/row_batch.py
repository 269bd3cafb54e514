"""RowBatch: rows of a table that were read together, and where each of them stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.io.line_file import Line


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
