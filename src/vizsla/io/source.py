"""Where records come from: something that can be read again and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeVar

from vizsla.dataset_warning import Tally
from vizsla.io.line_file import Line
from vizsla.item import Item
from vizsla.query import Query

Record = TypeVar("Record", bound=Item | Query)
RecordOut = TypeVar("RecordOut", bound=Item | Query, covariant=True)


class Source(Protocol[RecordOut]):
    """Reads all records from the start, each time it is iterated."""

    name: str

    def __iter__(self) -> Iterator[RecordOut]:
        """Read from the start."""
        ...

    def place(self, number: int) -> Line:
        """Say where record `number` stands, for an error message."""
        ...

    def pick(self, number: int) -> RecordOut | None:
        """Return one record by its number; None if only reading from the start is possible."""
        ...

    def report(self, tally: Tally) -> None:
        """Count what the last complete reading skipped."""
        ...
