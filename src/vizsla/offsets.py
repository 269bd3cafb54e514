"""Offsets, where each row of a flat array begins, and numbers that rise: one check each, for files and callers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def are_offsets(offsets: NDArray[np.int64], end: int, *, rows: int | None = None) -> bool:
    """Return whether offsets rise from 0 to `end`, one more than there are `rows`.

    Neighbours are compared, not subtracted: a difference of wild numbers wraps around and looks harmless.

    Examples
    --------
    >>> are_offsets(np.array([0, 2, 2, 5]), 5)
    True
    >>> are_offsets(np.array([0, 2**63 - 1, -2, 5]), 5)
    False
    """
    if offsets.ndim != 1 or not len(offsets) or (rows is not None and len(offsets) != rows + 1):
        return False
    return bool(offsets[0] == 0 and offsets[-1] == end and (offsets[1:] >= offsets[:-1]).all())


def are_rising(numbers: NDArray[Any], below: int) -> bool:
    """Return whether numbers rise, each above the one before it, from 0 or more to less than `below`.

    Examples
    --------
    >>> are_rising(np.array([0, 2, 4]), 5), are_rising(np.array([2, 2]), 5)
    (True, False)
    >>> are_rising(np.array([0, 2**31 - 1, -(2**31), -1, 4], np.int32), 5)
    False
    """
    if numbers.ndim != 1:
        return False
    inside = not len(numbers) or bool(numbers[0] >= 0 and numbers[-1] < below)
    return inside and bool((numbers[1:] > numbers[:-1]).all())
