"""Collects (query, item, weight) entries into a sparse matrix."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vizsla.dataset_warning import Tally
from vizsla.io.line_file import Line
from vizsla.strings import Strings

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Pairs:
    """Entries of a queries × items matrix, in flat arrays until they are complete.

    Parameters
    ----------
    query_ids, item_ids : Strings
        Rows and columns.
    dangling : {"warn", "raise"}
        What to do with an entry whose query or item is unknown: count and leave out, or raise.
    """

    def __init__(self, query_ids: Strings, item_ids: Strings, *, dangling: str):
        self._queries, self._items, self._raise = query_ids, item_ids, dangling == "raise"
        self._rows, self._columns, self._lines = array("i"), array("i"), array("q")
        self._values = array("d")
        self._unknown: dict[str, int] = {"query": 0, "item": 0}
        self._example: dict[str, str] = {}

    def add(self, line: Line, query: str, item: str, value: float) -> None:
        """Add one entry; `line` is where it stands."""
        row, column = self._queries.find(query), self._items.find(item)
        if row < 0 or column < 0:
            self._miss(line, *(("query", query) if row < 0 else ("item", item)))
            return
        self._rows.append(row)
        self._columns.append(column)
        self._values.append(value)
        self._lines.append(line.number)

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

    def _miss(self, line: Line, kind: str, id: str) -> None:
        if self._raise:
            raise line.error(f"the {kind} {id!r} is unknown.", 'Add it, or pass dangling="warn" to leave it out.')
        self._unknown[kind] += 1
        self._example.setdefault(kind, id)

    def _report(self, tally: Tally, name: str) -> None:
        for kind, count in self._unknown.items():
            tally.add(count, f"entries of {name} left out: unknown {kind}, for example {self._example.get(kind)!r}")

    def _sorted(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
        rows, columns = np.array(self._rows, dtype=np.int32), np.array(self._columns, dtype=np.int32)
        order = np.lexsort((columns, rows))
        return rows[order], columns[order], np.array(self._values)[order], np.array(self._lines)[order]

    def _matrix(
        self, rows: NDArray[np.int32], columns: NDArray[np.int32], values: NDArray[np.float64]
    ) -> csr_array:
        from scipy.sparse import csr_array

        starts = np.zeros(len(self._queries) + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=len(self._queries)), out=starts[1:])
        return csr_array((values, columns, starts), shape=(len(self._queries), len(self._items)))

    def _clash(
        self,
        name: str,
        at: int,
        rows: NDArray[np.int32],
        columns: NDArray[np.int32],
        values: NDArray[np.float64],
        lines: NDArray[np.int64],
    ) -> Exception:
        query, item = self._queries[int(rows[at])], self._items[int(columns[at])]
        first, second = values[at], values[at + 1]
        return Line(name, int(lines[at + 1])).error(
            f"query {query!r} and item {item!r} have grade {second:g} here and {first:g} on line {lines[at]}.",
            "Keep one of the two.",
        )
