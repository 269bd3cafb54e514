"""Slots of an engine's rows: which of them have an item, and arrays that grow without a copy of what is there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.lazy import cached_property
from vizsla.typing import BoolArray, Int32Array, Int64Array

GROWTH = 1.25
"""How much more room an array gets where it has none left."""


class GrowingArray:
    """Numbers that only grow: what `values` returned never changes, whatever is appended later.

    Parameters
    ----------
    values : array
        The first ones; they are not written to.

    Examples
    --------
    >>> numbers = GrowingArray(np.array([3, 5]))
    >>> before = numbers.values
    >>> numbers.append(np.array([7]))
    >>> before.tolist(), numbers.values.tolist()
    ([3, 5], [3, 5, 7])
    """

    def __init__(self, values: NDArray[Any]):
        self._room, self._count = values, len(values)

    def __len__(self) -> int:
        return self._count

    @property
    def values(self) -> Any:
        """All numbers so far."""
        return self._room[: self._count]

    def append(self, values: NDArray[Any]) -> None:
        """Add numbers."""
        end = self._count + len(values)
        if end > len(self._room):
            room = np.empty(max(end, int(GROWTH * len(self._room)) + 64), self._room.dtype)
            room[: self._count] = self.values
            self._room = room
        self._room[self._count : end] = values
        self._count = end

    def changed(self, places: NDArray[Any], value: Any) -> GrowingArray:
        """Return a copy with another value at some places, and the same room to grow."""
        made = GrowingArray(self._room.copy())
        made._count = self._count
        made._room[places] = value
        return made


class SlotMap:
    """Which slots have an item at one moment: items are numbered without holes, slots with them.

    It holds the holes alone, so that a change costs what it changes, however many items there are.

    Parameters
    ----------
    flags : bool array
        One per slot: whether it has an item.
    holes : int32 array
        The slots without one, ascending.

    Examples
    --------
    >>> slots = SlotMap(np.array([True, False, True, True]), np.array([1], np.int32))
    >>> len(slots), slots.of_items(np.array([0, 2])).tolist(), slots.items_at(np.array([2, 3])).tolist()
    (3, [0, 3], [1, 2])
    """

    def __init__(self, flags: BoolArray, holes: Int32Array):
        self.flags, self.holes = flags, holes

    @classmethod
    def of(cls, flags: BoolArray) -> SlotMap:
        """Return the map of these flags."""
        return cls(flags, np.flatnonzero(~flags).astype(np.int32))

    def __len__(self) -> int:
        return len(self.flags) - len(self.holes)

    @property
    def size(self) -> int:
        """The number of slots."""
        return len(self.flags)

    @cached_property
    def _before(self) -> Int32Array:
        """How many items are before each hole."""
        return np.asarray(self.holes - np.arange(len(self.holes), dtype=np.int32), np.int32)

    def of_items(self, items: Int32Array | Int64Array) -> Int32Array:
        """Return the slots of items."""
        return np.asarray(items + np.searchsorted(self._before, items, side="right"), np.int32)

    def of_item(self, item: int) -> int:
        """Return the slot of one item."""
        return item + int(np.searchsorted(self._before, item, side="right"))

    def items_at(self, slots: Int32Array) -> Int32Array:
        """Return the items at slots, each of which has one."""
        return np.asarray(slots - np.searchsorted(self.holes, slots), np.int32)
