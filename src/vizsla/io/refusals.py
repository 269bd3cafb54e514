"""Refusals: what one source could not read, counted."""

from __future__ import annotations

import warnings

from vizsla.checked import caller_level
from vizsla.dataset_warning import DatasetWarning, Tally
from vizsla.errors import DataError
from vizsla.io.reading import Reading

WAY_OUT = 'Or leave out what cannot be read: on_error="skip".'
NAMED = 5
"""With "warn", so many of a source's unreadable lines are named one by one; the count tells the rest."""


class Refusals:
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
    >>> refusals = Refusals(Reading(on_error="skip"), "items.csv")
    >>> refusals.add(DataError("the id is empty.", path="items.csv", line=3), ",a fig")
    >>> tally = Tally()
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

    def report(self, tally: Tally) -> None:
        """Count what the last complete reading left out."""
        tally.add(self.count, f"unreadable {self._what} skipped in {self._name}; the first: {self._first}")

    def _tell(self, error: DataError, raw: str | bytes) -> None:
        if self._how.rejected is not None:
            data = raw.encode(self._how.encoding, "replace") if isinstance(raw, str) else raw
            self._how.rejected.write(data.rstrip(b"\r\n") + b"\n")
        if self._how.on_error == "warn" and len(self._told) < NAMED:
            warnings.warn(str(error), DatasetWarning, stacklevel=caller_level())


def _with_a_way_out(error: DataError) -> DataError:
    if error.remedy.endswith(WAY_OUT):  # a reader within another has said so
        return error
    remedy = f"{error.remedy} {WAY_OUT}".strip()
    return DataError(error.problem, path=error.path, line=error.line, remedy=remedy)
