"""Rows brought to length 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def unit_rows(rows: Any, *, least: float = 0.0) -> NDArray[np.float32]:
    """Divide every row by its Euclidean length; a row that is not longer than `least` becomes zeros.

    Examples
    --------
    >>> unit_rows([[3.0, 4.0], [0.0, 0.0]]).round(3).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    values = np.asarray(rows, np.float32)
    lengths = np.sqrt(np.square(values, dtype=np.float64).sum(axis=1, keepdims=True))
    long = lengths > least
    return np.where(long, values / np.where(long, lengths, 1.0), 0.0).astype(np.float32)
