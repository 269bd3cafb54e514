"""ClearBasis: the quick way to a growing solution, for columns that are clearly independent of each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
CLEAR = 1e-3
"""Of the longest column, how much of each must be outside of the span of those before it. The basis is then orthogonal
to about the square of its inverse times the rounding of a float64, 1e-10, without a second pass."""


class ClearBasis:
    """Solves ``columnᵀ · w = score`` for all columns so far by the shortest `w`, and refuses what it is too quick for.

    Gram and Schmidt, a block of columns at a time and only once; inside of a block, Cholesky's triangle of the columns'
    products. That takes two large products where mirrors take many small ones.

    Parameters
    ----------
    dim : int
        The length of a column.

    Examples
    --------
    >>> basis = ClearBasis(3)
    >>> basis.add(np.array([[2.0, 0.0, 0.0], [2.0, 1.0, 0.0]]), np.array([4.0, 5.0]))
    True
    >>> basis.weights().tolist()
    [2.0, 1.0, 0.0]
    >>> basis.add(np.array([[1.0, 1.0, 0.0]]), np.array([0.0]))
    False
    """

    def __init__(self, dim: int):
        self._axes = np.zeros((dim, dim))
        self._size, self._longest = 0, 0.0
        self._solution = np.zeros(0)

    def add(self, columns: Doubles, scores: Doubles) -> bool:
        """Add columns, one a row, and their scores; or return False, and leave everything as it is."""
        end, axes = self._size + len(columns), self._axes[: self._size]
        if end > len(self._axes):
            return False
        inside = columns @ axes.T
        rest = columns - inside @ axes
        longest = max(self._longest, float(np.linalg.norm(columns, axis=1).max(initial=0)))
        triangle = _triangle(rest)
        if triangle is None or not triangle.diagonal().min(initial=np.inf) > CLEAR * longest:
            return False
        inverse = np.linalg.inv(triangle)
        np.matmul(inverse, rest, out=self._axes[self._size : end])
        self._solution = np.concatenate([self._solution, inverse @ (scores - inside @ self._solution)])
        self._size, self._longest = end, longest
        return True

    def weights(self) -> Doubles:
        """Return the solution."""
        return np.asarray(self._solution @ self._axes[: self._size])


def _triangle(rows: Doubles) -> Doubles | None:
    """Return Cholesky's triangle of the rows' products, where they have one."""
    try:
        return np.asarray(np.linalg.cholesky(rows @ rows.T))
    except np.linalg.LinAlgError:
        return None
