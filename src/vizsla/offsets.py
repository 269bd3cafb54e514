"""Offsets: where each row of a flat array begins. One check for all who read them from a file or a caller."""

from __future__ import annotations

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
