"""Matrix products whose every bit is the same however many threads BLAS takes.

BLAS adds in an order that depends on its threads, and floating-point sums depend on the order. Sums of whole numbers do
not, as long as none exceeds 2⁵³. So the factors are rounded to whole numbers of some twenty bits first, about what
float32 holds, and float64 then adds without any error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
BITS = 20
"""Of a whole number that stands for an entry of a tall matrix."""
BLOCK = 1 << 12
"""Rows whose products are added in BLAS: 2¹² · 2²⁰ · 2²⁰ is below 2⁵³."""


def gram(columns: Floats) -> Doubles:
    """Return the inner products of all pairs of columns.

    Examples
    --------
    >>> gram(np.array([[3.0, 0.0], [4.0, 2.0]], np.float32)).tolist()
    [[25.0, 8.0], [8.0, 4.0]]
    """
    steps = _steps(columns, BITS)
    total = np.zeros((columns.shape[1], columns.shape[1]))
    for start in range(0, len(columns), BLOCK):
        whole = np.rint(columns[start : start + BLOCK] / steps)
        total += whole.T @ whole
    return np.asarray(total * steps[:, None] * steps[None, :], np.float64)


def turned(columns: Floats, turns: Doubles) -> Floats:
    """Return ``columns @ turns`` for a small matrix of turns.

    Examples
    --------
    >>> turned(np.array([[3.0, 4.0]], np.float32), np.array([[0.0, 1.0], [2.0, 0.0]])).tolist()
    [[8.0, 3.0]]
    """
    steps = _steps(columns, BITS)
    scaled = turns * steps[:, None]
    small = _steps(scaled, 53 - BITS - max(1, len(turns)).bit_length())
    whole, parts = np.rint(scaled / small), [np.zeros((0, turns.shape[1]), np.float32)]
    for start in range(0, len(columns), BLOCK):
        parts.append(((np.rint(columns[start : start + BLOCK] / steps) @ whole) * small).astype(np.float32))
    return np.concatenate(parts)


def _steps(columns: Floats | Doubles, bits: int) -> Doubles:
    """Return for each column the power of two that makes its largest entry a whole number of so many bits."""
    largest = np.abs(columns).max(axis=0, initial=0.0).astype(np.float64)
    return np.where(largest > 0, np.exp2(np.ceil(np.log2(np.where(largest > 0, largest, 1.0))) - bits), 1.0)
