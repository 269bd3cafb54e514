"""The arrays of one column: checked as they are read from a file, and the tables of strings among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import DataError, FormatError
from vizsla.strings import Strings

Codes = NDArray[np.int32]


class Segments:
    """The arrays of one column in a file, checked as they are read.

    Parameters
    ----------
    parts : sequence of uint8 arrays
        Their bytes.
    count : int
        The number of items.
    source : str
        For messages.
    """

    def __init__(self, parts: Sequence[NDArray[np.uint8]], count: int, source: str):
        self.parts, self.count, self.source = parts, count, source

    def array(self, at: int, dtype: type) -> NDArray[Any]:
        """Return a segment as an array of this type."""
        if len(self.parts[at]) % np.dtype(dtype).itemsize:
            raise self.error("a part of a column has the wrong length")
        return self.parts[at].view(dtype)

    def strings(self, at: int) -> Strings:
        """Return two segments as a table of strings, which is read by number only."""
        try:
            return Strings(self.parts[at], self.array(at + 1, np.int64), NO_SLOTS, source=self.source)
        except ValueError as error:
            raise self.error(str(error)) from error

    def codes(self, at: int, known: int) -> Codes:
        """Return a segment as one code per item, each below `known`."""
        codes = self.array(at, np.int32)
        if len(codes) != self.count or (len(codes) and not -1 <= codes.min() <= codes.max() < known):
            raise self.error(f"expected a value's code for each of {self.count} items")
        return codes

    def error(self, problem: str) -> FormatError:
        """Return the error that names the file."""
        return FormatError(f"{self.source}: {problem}.")


NO_SLOTS, NO_CODES = np.zeros(0, np.uint32), np.zeros(0, np.int32)


def table(texts: Iterable[str]) -> Strings:
    """Return a table of strings that is read by number only; what is no Unicode raises."""
    given = list(texts)
    try:
        together = "".join(given)
        sizes = list(map(len, given)) if together.isascii() else [len(text.encode()) for text in given]
        data = np.frombuffer(together.encode(), np.uint8)
    except UnicodeEncodeError as error:
        raise DataError(f"metadata must be valid Unicode ({error.reason}).", remedy="Repair the field.") from None
    offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    return Strings(data, offsets, NO_SLOTS)


NOTHING = table([])
