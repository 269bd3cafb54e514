"""Records of several sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic

from vizsla.dataset_warning import Tally
from vizsla.io.line_file import Line
from vizsla.io.source import Record, Source


class ChainSource(Generic[Record]):
    """Several sources, one after another."""

    def __init__(self, parts: Sequence[Source[Record]]):
        self.name, self._parts = ", ".join(part.name for part in parts), parts

    def __iter__(self) -> Iterator[Record]:
        return (record for part in self._parts for record in part)

    def place(self, number: int) -> Line:
        """Ask the part that holds the record."""
        for part in self._parts:
            count = sum(1 for _ in part)
            if number < count:
                return part.place(number)
            number -= count
        return Line(self.name, number)

    def pick(self, number: int) -> Record | None:
        """A chain is read from the start."""
        return None

    def report(self, tally: Tally) -> None:
        """Count what the parts skipped."""
        for part in self._parts:
            part.report(tally)
