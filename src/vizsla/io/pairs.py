"""Collects (query, item, weight) entries into a sparse matrix."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.cached_property import cached_property
from vizsla.click_events import ClickEvents
from vizsla.dataset_warning import Tally
from vizsla.errors import DataError, InputError
from vizsla.io.line_file import Line
from vizsla.strings import Strings

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Columns = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]
"""Row, column, value and line number of every entry."""


class Pairs:
    """Entries of a queries × items matrix, in flat arrays until they are complete.

    Parameters
    ----------
    query_ids, item_ids : Strings, optional
        Rows and columns. Without them, what the entries name is numbered in order of appearance.
    dangling : {"warn", "raise"}
        What to do with an entry whose query or item is unknown: count and leave out, or raise.
    """

    def __init__(self, query_ids: Strings | None, item_ids: Strings | None, *, dangling: str):
        self._query_ids, self._item_ids, self._raise = query_ids, item_ids, dangling == "raise"
        self._late: DataError | None = None
        self._table = _native.EntryTable(_arrays(query_ids), _arrays(item_ids), stop_at_unknown=self._raise)

    @property
    def seen(self) -> int:
        """How many entries came, unknown ones among them."""
        return self._table.seen

    def add(self, line: Line, query: str, item: str, value: float, time: float = nan) -> None:
        """Add one entry; `line` is where it stands, `time` when it was made, in seconds since 1970."""
        names = _encoded(query, self._query_ids), _encoded(item, self._item_ids)
        if not self._table.add(*names, value, line.number, time) and self._raise:
            self._miss(line, query, item)

    def read(self, data: bytes, at: int, number: int, format: _native.EntryFormat) -> tuple[int, int, int]:
        """Add the entries of whole lines from byte `at` on, up to the first line that is not plain.

        Returns where that line begins (or the end), its number, and how many blank lines were passed.
        """
        return self._table.read(data, at, number, format)

    @cached_property
    def queries(self) -> Strings:
        """The rows' ids, or the texts that stood in their place; complete when all entries are."""
        return self._query_ids if self._query_ids is not None else _strings(*self._table.queries())

    @cached_property
    def items(self) -> Strings:
        """The columns' ids; complete when all entries are."""
        return self._item_ids if self._item_ids is not None else _strings(*self._table.items())

    @cached_property
    def columns(self) -> Columns:
        """Row, column, value and line number of the entries, in the order in which they came."""
        if self._late is not None:
            raise self._late
        return self._table.take()

    @cached_property
    def events(self) -> ClickEvents | None:
        """Every entry with its time, in the order in which they came; None where they have none."""
        (rows, columns, values, _), times = self.columns, self._table.take_times()
        if not len(times):
            return None
        if len(times) < len(rows):
            raise InputError(f"Every click must have a time, or none. Got {len(times)} times of {len(rows)} clicks.")
        return ClickEvents(rows, columns, values, times)

    def summed(self, tally: Tally, *, name: str) -> csr_array:
        """Return clicks: repeated pairs are summed; pairs of weight 0 are left out and counted."""
        matrix = self._matrix(*self._sorted()[:3])
        matrix.sum_duplicates()
        zeros = int((matrix.data == 0).sum())
        tally.add(zeros, f"clicks of weight 0 left out of {name}")
        matrix.eliminate_zeros()
        self._report(tally, name)
        return matrix.astype(np.float32)

    def graded(self, tally: Tally, *, name: str) -> csr_array:
        """Return judgements: a pair repeated with the same grade counts once, with another grade it raises."""
        rows, columns, values, lines = self._sorted()
        same = np.zeros(len(rows), dtype=np.bool_)
        same[1:] = (rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1])
        clash = np.flatnonzero(same[1:] & (values[1:] != values[:-1]))
        if len(clash):
            raise self._clash(name, int(clash[0]), rows, columns, values, lines)
        tally.add(int(same.sum()), f"judgements repeated in {name}: each counted once")
        self._report(tally, name)
        return self._matrix(rows[~same], columns[~same], values[~same]).astype(np.int32)

    def _miss(self, line: Line, query: str, item: str) -> None:
        unknown = self._query_ids is not None and self._query_ids.find(query) < 0
        kind, id = ("query", query) if unknown else ("item", item)
        error = line.error(f"the {kind} {id!r} is unknown.", 'Add it, or pass dangling="warn" to leave it out.')
        if self._query_ids is not None:
            raise error
        # Where the log names the queries, its own faults come first: this waits until it is read.
        self._late = self._late or error

    def _report(self, tally: Tally, name: str) -> None:
        found = {"query": self._table.unknown_queries, "item": self._table.unknown_items}
        for kind, (count, example) in found.items():
            id = example.decode("utf-8", "surrogatepass")
            tally.add(count, f"entries of {name} left out: unknown {kind}, for example {id!r}")

    def _sorted(self) -> Columns:
        rows, columns, values, lines = self.columns
        order = np.lexsort((columns, rows))
        return rows[order], columns[order], values[order], lines[order]

    def _matrix(self, rows: NDArray[np.int32], columns: NDArray[np.int32], values: NDArray[np.float64]) -> csr_array:
        from scipy.sparse import csr_array

        starts = np.zeros(len(self.queries) + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=len(self.queries)), out=starts[1:])
        return csr_array((values, columns, starts), shape=(len(self.queries), len(self.items)))

    def _clash(
        self,
        name: str,
        at: int,
        rows: NDArray[np.int32],
        columns: NDArray[np.int32],
        values: NDArray[np.float64],
        lines: NDArray[np.int64],
    ) -> Exception:
        query, item = self.queries[int(rows[at])], self.items[int(columns[at])]
        first, second = values[at], values[at + 1]
        return Line(name, int(lines[at + 1])).error(
            f"query {query!r} and item {item!r} have grade {second:g} here and {first:g} on line {lines[at]}.",
            "Keep one of the two.",
        )


def _arrays(ids: Strings | None) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint32]] | None:
    return None if ids is None else (ids.data, ids.offsets, ids.slots)


def _strings(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Strings:
    return Strings(data, offsets, _native.build_slots(data, offsets)[0])


def _encoded(name: str, known: Strings | None) -> bytes:
    try:
        return name.encode()
    except UnicodeEncodeError as error:
        if known is not None:
            return name.encode("utf-8", "surrogatepass")  # No table holds it, so it is an unknown name.
        raise InputError(f"Every string must be valid Unicode. Got {name!r}, {error.reason}.") from error
