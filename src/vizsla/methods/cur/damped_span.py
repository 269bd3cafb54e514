"""DampedSpan: a ridge regression that grows with its equations, for scores that no combination fits exactly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


class DampedSpan:
    """Solves ``columnᵀ · w ≈ score`` for all columns so far, with the least error² + ridge · length of `w`².

    A pseudo-inverse divides by every singular value. When there are about as many columns as anchor queries, the
    smallest ones are nearly 0, and the solution fits noise exactly. Here a value s counts as s + ridge / s. Cholesky's
    triangle of ``columns · columnsᵀ + ridge`` grows by a block of rows, and nothing that is known is computed again.

    Parameters
    ----------
    dim : int
        The length of a column.
    ridge : float
        What is added to the squares of singular values; above 0.

    Examples
    --------
    >>> span = DampedSpan(2, 1.0)
    >>> span.add(np.array([[1.0, 0.0]]), np.array([2.0]))
    >>> span.add(np.array([[0.0, 2.0]]), np.array([5.0]))
    >>> span.weights().round(6).tolist()
    [1.0, 2.0]
    """

    def __init__(self, dim: int, ridge: float):
        self._ridge, self._size = ridge, 0
        self._columns, self._halfway = np.empty((0, dim)), np.zeros(0)
        self._triangle: list[_Rows] = []
        self._waiting: list[tuple[Doubles, Doubles]] = []

    def add(self, columns: NDArray[np.floating], scores: NDArray[np.floating]) -> None:
        """Add columns, one a row, and their scores. Nothing is computed before it is asked for."""
        self._waiting.append((np.asarray(columns, np.float64), np.asarray(scores, np.float64)))

    def weights(self) -> Doubles:
        """Return the solution."""
        for columns, scores in self._waiting:
            self._take_in(columns, scores)
        self._waiting.clear()
        return np.asarray(self._shares() @ self._columns[: self._size])

    def _take_in(self, columns: Doubles, scores: Doubles) -> None:
        """Add rows to the triangle, and go forward through them."""
        before = self._before(columns @ self._columns[: self._size].T)
        square = columns @ columns.T - before @ before.T
        square.flat[:: len(square) + 1] += self._ridge
        corner = np.linalg.inv(np.linalg.cholesky(square))
        self._triangle.append(_Rows(self._size, before, corner))
        self._halfway = np.concatenate([self._halfway, corner @ (scores - before @ self._halfway)])
        self._room(len(columns))[:] = columns

    def _before(self, products: Doubles) -> Doubles:
        """Return the triangle's new rows up to the diagonal, where `products` are those with all columns before."""
        for start, before, corner in self._triangle:
            end = start + len(corner)
            products[:, start:end] = (products[:, start:end] - products[:, :start] @ before.T) @ corner.T
        return products

    def _shares(self) -> Doubles:
        """Return each column's share in the solution: go back through the triangle."""
        shares = self._halfway.copy()
        for start, before, corner in reversed(self._triangle):
            end = start + len(corner)
            shares[start:end] = shares[start:end] @ corner
            shares[:start] -= shares[start:end] @ before
        return shares

    def _room(self, count: int) -> Doubles:
        """Return where `count` more columns go. Once full there is room for twice as many, so they are seldom moved."""
        start, self._size = self._size, self._size + count
        if self._size > len(self._columns):
            larger = np.empty((max(2 * len(self._columns), self._size), self._columns.shape[1]))
            larger[:start] = self._columns[:start]
            self._columns = larger
        return self._columns[start : self._size]


class _Rows(NamedTuple):
    """Rows of the triangle: the place of their first, what is before the diagonal, and the inverse of what is at it."""

    start: int
    before: Doubles
    corner: Doubles
