"""Clicks and judgements in a table: which column is what, known by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan
from pathlib import Path
from typing import Any, NamedTuple, Self

from vizsla.errors import DataError, InputError
from vizsla.io.clicks import NAMES, ORDER, time_of, weight_of
from vizsla.io.entries import Entry
from vizsla.io.line_file import Line
from vizsla.io.qrels import grade_of


class EntryColumns(NamedTuple):
    """The columns of a Parquet file or a data frame that hold clicks, or with `grades` judgements.

    Examples
    --------
    >>> columns = EntryColumns.of(["SKU", "query", "page"], "clicks")
    >>> columns.entry({"query": "red fig", "SKU": 7}, Line("clicks", 1))[:3]
    ('red fig', '7', 1.0)
    """

    query: str
    item: str
    weight: str | None
    time: str | None
    grades: bool

    @classmethod
    def of(
        cls, names: Sequence[str], path: str | Path, given: Mapping[str, str] | None = None, *, grades: bool = False
    ) -> Self:
        """Say which column is what, by the names that the user gave, or else by the usual ones; raise if that fails."""
        unknown = sorted(set(given or {}) - set(ORDER))
        if unknown:
            raise InputError(f"`click_columns` must name query, item, weight or time. Got {unknown[0]!r}.")
        kinds = ORDER[:3] if grades else ORDER
        found = {kind: _column(names, kind, (given or {}).get(kind), path) for kind in kinds}
        return cls(str(found["query"]), str(found["item"]), found["weight"], found.get("time"), grades)

    @property
    def names(self) -> list[str]:
        """The names of the columns that are read."""
        return [name for name in (self.query, self.item, self.weight, self.time) if name is not None]

    def entry(self, row: Mapping[str, Any], line: Line) -> Entry:
        """Return the entry that a row holds."""
        query, item = row[self.query], row[self.item]
        if query in (None, "") or item in (None, ""):
            raise line.error("the query or the item is empty.", "Repair the row.")
        for id in (query, item):
            if isinstance(id, float):
                raise line.error(f"ids must be texts or whole numbers. Got {id!r}.", "Convert the column to text.")
        value = (grade_of if self.grades else weight_of)(str(1 if self.weight is None else row[self.weight]), line)
        return str(query), str(item), value, nan if self.time is None else time_of(str(row[self.time]), line)


def _column(names: Sequence[str], kind: str, given: str | None, path: str | Path) -> str | None:
    known = NAMES[kind] if given is None else {given.lower()}
    found = next((name for name in names if name.lower() in known), None)
    if found is None and (given is not None or kind in ("query", "item")):
        wanted = ", ".join(sorted(known))
        raise DataError(f"a column must be called one of {wanted}. Got {list(names)}.", path=path, remedy="Rename.")
    return found
