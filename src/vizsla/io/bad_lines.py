"""How data files are read: columns, encoding, and what happens to lines that cannot be read."""

from __future__ import annotations

import codecs
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from vizsla.core.validation import DatasetWarning, WarningLog, as_path, user_stacklevel
from vizsla.errors import DataError, InputError, check_choice

ON_ERROR = ("raise", "warn", "skip")


@dataclass(frozen=True)
class Reading:
    """The choices that all readers share.

    Parameters
    ----------
    encoding : str
        "utf-8" (a byte order mark is dropped), "utf-16", "latin-1", or any other that Python knows.
    on_error : {"raise", "warn", "skip"}
        What cannot be read raises; is left out, counted, and the first ones named; or is left out and counted.
    rejected : binary file, optional
        Receives the lines that were left out, as they stood.

    Examples
    --------
    >>> Reading(encoding="UTF8").encoding, Reading().skips
    ('utf-8', False)
    """

    encoding: str = "utf-8"
    on_error: str = "raise"
    rejected: IO[bytes] | None = None

    def __post_init__(self) -> None:
        check_choice("on_error", self.on_error, ON_ERROR)
        object.__setattr__(self, "encoding", _known(self.encoding))

    @property
    def skips(self) -> bool:
        """Whether what cannot be read is left out."""
        return self.on_error != "raise"


def _known(encoding: str) -> str:
    try:
        info = codecs.lookup(encoding)
        "".encode(info.name)  # some codecs are no text encodings
    except (LookupError, TypeError, ValueError, UnicodeError):
        raise InputError(f"`encoding` must be one that Python knows, such as latin-1. Got {encoding!r:.60}.") from None
    return {"utf-8-sig": "utf-8", "iso8859-1": "latin-1"}.get(info.name, info.name)


STRICT_READING = Reading()


WAY_OUT = 'Or leave out what cannot be read: on_error="skip".'
MAX_LINES_NAMED = 5
"""With "warn", the number of a source's unreadable lines that are named one by one; the rest is counted."""


class BadLines:
    """Counts what is left out in one reading of a source; a source that is read again says and writes nothing twice.

    Parameters
    ----------
    how : Reading
        Whether anything may be left out, and where it is written.
    name : str
        The source.
    what : str
        What is left out, in the plural.

    Examples
    --------
    >>> refusals = BadLines(Reading(on_error="skip"), "items.csv")
    >>> refusals.add(DataError("the id is empty.", path="items.csv", line=3), ",a fig")
    >>> tally = WarningLog()
    >>> refusals.report(tally)
    >>> tally.messages
    ('1 unreadable lines skipped in items.csv; the first: items.csv, line 3: the id is empty.',)
    """

    def __init__(self, how: Reading, name: str, *, what: str = "lines"):
        self._how, self._name, self._what = how, name, what
        self.count = 0
        self._first: DataError | None = None
        self._told: set[tuple[object, int | None]] = set()

    def begin(self) -> None:
        """Count from 0: the source is read from its start."""
        self.count = 0

    def add(self, error: DataError, raw: str | bytes) -> None:
        """Leave a line out, or raise the error."""
        if not self._how.skips:
            raise _with_a_way_out(error)
        self.count += 1
        self._first = self._first or error
        if (place := (error.path, error.line)) not in self._told:
            self._tell(error, raw)
            self._told.add(place)

    def report(self, tally: WarningLog) -> None:
        """Count what the last complete reading left out."""
        tally.add(self.count, f"unreadable {self._what} skipped in {self._name}; the first: {self._first}")

    def _tell(self, error: DataError, raw: str | bytes) -> None:
        if self._how.rejected is not None:
            data = raw.encode(self._how.encoding, "replace") if isinstance(raw, str) else raw
            self._how.rejected.write(data.rstrip(b"\r\n") + b"\n")
        if self._how.on_error == "warn" and len(self._told) < MAX_LINES_NAMED:
            warnings.warn(str(error), DatasetWarning, stacklevel=user_stacklevel())


def _with_a_way_out(error: DataError) -> DataError:
    if error.remedy.endswith(WAY_OUT):  # a reader within another has said so
        return error
    remedy = f"{error.remedy} {WAY_OUT}".strip()
    return DataError(error.problem, path=error.path, line=error.line, remedy=remedy)


@contextmanager
def rejected_file(rejected: str | Path | None, sources: Sequence[str | Path | None]) -> Iterator[IO[bytes] | None]:
    """Open the file for rejected lines, if one is wanted; one of those that are read raises, and stays as it is."""
    if rejected is None:
        yield None
        return
    path = as_path(rejected, "rejected")
    for source in sources:
        if source is not None and path.exists() and Path(source).exists() and path.samefile(source):
            raise InputError(f"`rejected` must be another file than those that are read. Got {rejected}.")
    with path.open("wb") as file:
        yield file
