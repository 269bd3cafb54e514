"""ClickTable: clicks one by one, found by query, by slot or by number without looking at all of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.typing import BoolArray, Float64Array, Int32Array, Int64Array

MAX_UNSORTED_CLICKS = 4096
"""Places that are looked up in a dict before the order is made anew; more where there are many clicks."""


class Places:
    """Where each key is in a column that only grows: a sorted order of the first places, a dict of the later ones.

    What was returned for the first `count` places stays true whatever is appended.

    Examples
    --------
    >>> places = Places(np.array([7, 3, 7]))
    >>> places.append(np.array([3]))
    >>> places.of(np.array([3]), 4).tolist(), places.of(np.array([3, 7]), 3).tolist()
    ([1, 3], [1, 0, 2])
    """

    def __init__(self, keys: NDArray[Any]):
        self._order = np.argsort(keys, kind="stable")
        self._keys: NDArray[Any] = keys[self._order]
        self._count = len(keys)
        self._tail: dict[int, list[int]] = {}

    @property
    def is_stale(self) -> bool:
        """Whether it should be made anew."""
        return self._count - len(self._keys) > max(MAX_UNSORTED_CLICKS, len(self._keys) // 4)

    def append(self, keys: NDArray[Any]) -> None:
        """Add the keys of the next places."""
        for at, key in enumerate(keys.tolist(), start=self._count):
            self._tail.setdefault(key, []).append(at)
        self._count += len(keys)

    def of(self, keys: NDArray[Any], count: int) -> Int64Array:
        """Return the places of these keys among the first `count`."""
        starts, ends = (np.searchsorted(self._keys, keys, side) for side in ("left", "right"))
        found = self._order[_ranges(starts, ends)] if len(self._keys) else np.zeros(0, np.int64)
        if self._tail:
            late = [at for key in keys.tolist() for at in self._tail.get(key, ()) if at < count]
            found = np.concatenate([found, np.array(late, np.int64)])
        return np.asarray(found, np.int64)


def _ranges(starts: Int64Array, ends: Int64Array) -> Int64Array:
    """Return all numbers of several ranges, one range after the other."""
    lengths = ends - starts
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths), np.int64)


class Clicks(NamedTuple):
    """Some clicks: the number of each and of its query, its slot, weight and time."""

    numbers: Int64Array
    queries: Int64Array
    slots: Int32Array
    weights: Float64Array
    times: Float64Array


class ClickTable:
    """Clicks in the order in which they came. Adding one costs the same however many there are.

    `frozen` returns them as they are now. Columns only grow, and what is forgotten is marked in a copy of the marks, so
    nothing that a frozen table reads ever changes.
    """

    def __init__(self) -> None:
        self._columns: tuple[Any, ...] = tuple(np.zeros(16, kind) for kind in ("i8", "i8", "i4", "f8", "f8"))
        self._count = self._dead = 0
        self._alive: BoolArray = np.ones(16, np.bool_)
        self._shared = False
        self._places: dict[int, Places] = {}
        self.latest = -np.inf
        """The time of the latest click."""

    def __len__(self) -> int:
        return self._count - self._dead

    def learn(
        self, numbers: Int64Array, queries: Int64Array, slots: Int32Array, weights: Float64Array, times: Float64Array
    ) -> None:
        """Add clicks."""
        end = self._count + len(numbers)
        if end > len(self._alive):
            self._columns = tuple(_room(column, self._count, end) for column in self._columns)
            room = np.ones(len(self._columns[0]), np.bool_)
            room[: self._count] = self._alive[: self._count]
            self._alive, self._shared = room, False
        for column, new in zip(self._columns, (numbers, queries, slots, weights, times), strict=True):
            column[self._count : end] = new
        for at, places in self._places.items():
            places.append(self._columns[at][self._count : end])
        self._count = end
        self.latest = max(self.latest, float(times.max(initial=-np.inf)))

    def forget(self, *, numbers: Int64Array | None = None, slots: Int32Array | None = None) -> Clicks:
        """Drop the clicks with these numbers, or on these slots; return those that were there."""
        column, keys = (0, numbers) if numbers is not None else (2, slots)
        self._index(column)
        gone = self._found(column, np.zeros(0, np.int64) if keys is None else np.unique(keys))
        lost = self._taken(gone)
        if len(gone):
            if self._shared:
                self._alive, self._shared = self._alive.copy(), False
            self._alive[gone] = False
            self._dead += len(gone)
            if len(lost.times) and lost.times.max() >= self.latest:
                self.latest = float(self.all().times.max(initial=-np.inf))
            if self._dead > max(MAX_UNSORTED_CLICKS, len(self)):
                self._compact()
        return lost

    def all(self) -> Clicks:
        """Return all clicks."""
        return self._taken(np.flatnonzero(self._alive[: self._count]))

    def of_queries(self, queries: Int64Array) -> Clicks:
        """Return the clicks of some queries, each query given once."""
        return self._taken(self._found(1, queries))

    def of_slots(self, slots: Int32Array) -> Clicks:
        """Return the clicks on some slots, each given once."""
        return self._taken(self._found(2, slots))

    def frozen(self) -> ClickTable:
        """Return the clicks as they are now; these may change afterwards."""
        for column in (1, 2):
            self._index(column)
        self._shared = True
        same = object.__new__(ClickTable)
        vars(same).update(vars(self) | {"_places": dict(self._places)})
        return same

    def _index(self, column: int) -> Places:
        known = self._places.get(column)
        if known is None or known.is_stale:
            known = self._places[column] = Places(self._columns[column][: self._count])
        return known

    def _found(self, column: int, keys: Any) -> Int64Array:
        known = self._places.get(column) or self._index(column)
        found = known.of(keys, self._count)
        return np.asarray(np.sort(found[self._alive[found]]), np.int64)

    def _taken(self, places: Int64Array) -> Clicks:
        return Clicks(*(column[places] for column in self._columns))

    def _compact(self) -> None:
        kept = np.flatnonzero(self._alive[: self._count])
        self._columns = tuple(column[kept] for column in self._columns)
        self._alive, self._shared = np.ones(len(kept), np.bool_), False
        self._count, self._dead, self._places = len(kept), 0, {}


def _room(column: Any, count: int, wanted: int) -> Any:
    room = np.zeros(max(wanted, 2 * len(column)), column.dtype)
    room[:count] = column[:count]
    return room
