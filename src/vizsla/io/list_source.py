"""Records in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic

from vizsla.dataset_warning import Tally
from vizsla.io.line_file import Line
from vizsla.io.source import Record


class ListSource(Generic[Record]):
    """Records that are in memory already."""

    def __init__(self, records: Sequence[Record], *, name: str = "input"):
        self.name, self._records = name, records

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def place(self, number: int) -> Line:
        """Records in memory are counted from 1."""
        return Line(self.name, number + 1)

    def pick(self, number: int) -> Record | None:
        """Return one record."""
        return self._records[number]

    def report(self, tally: Tally) -> None:
        """Nothing is ever skipped."""
