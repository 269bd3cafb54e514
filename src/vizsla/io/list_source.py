"""Records in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, Protocol

from vizsla.dataset_warning import Tally
from vizsla.io.line_file import Line
from vizsla.io.source import Record, RecordOut


class Numbered(Protocol[RecordOut]):
    """Records by number: a list, or something that makes them when asked."""

    def __len__(self) -> int:
        """How many there are."""
        ...

    def __getitem__(self, number: int, /) -> RecordOut:
        """Return one record."""
        ...


class ListSource(Generic[Record]):
    """Records that are in memory already."""

    def __init__(self, records: Numbered[Record], *, name: str = "input"):
        self.name, self._records = name, records

    def __iter__(self) -> Iterator[Record]:
        return (self._records[number] for number in range(len(self._records)))

    def place(self, number: int) -> Line:
        """Records in memory are counted from 1."""
        return Line(self.name, number + 1)

    def pick(self, number: int) -> Record | None:
        """Return one record."""
        return self._records[number]

    def report(self, tally: Tally) -> None:
        """Nothing is ever skipped."""
