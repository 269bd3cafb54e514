"""Incremental least squares, with and without a ridge."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.typing import Float64Array

MIN_CLEAR_SHARE = 1e-3
"""Of the longest column, how much of each must be outside of the span of those before it. The basis is then orthogonal
to about the square of its inverse times the rounding of a float64, 1e-10, without a second pass."""
MIN_SINGULAR_SHARE = 1e-7
"""Smaller singular values, relative to the largest, count as 0: they are the rounding of float32 columns."""


class IncrementalLstsq:
    """Solves ``columnᵀ · w = score`` for all columns so far, by the shortest `w` with the least error.

    That is the pseudo-inverse's solution. While all columns are clearly independent, an orthonormal basis of them grows
    a block at a time (Gram-Schmidt once, and Cholesky's triangle inside of the block), and new columns cost a few
    products. From the first columns on that are not, every call solves the whole problem by singular values.

    Parameters
    ----------
    dim : int
        The length of a column.

    Examples
    --------
    >>> span = IncrementalLstsq(2)
    >>> span.add(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([2.0, 4.0]))
    >>> span.weights().round(6).tolist()
    [3.0, 0.0]
    """

    def __init__(self, dim: int):
        self._axes = np.zeros((dim, dim))
        self._size, self._longest = 0, 0.0
        self._solution = np.zeros(0)
        self._blocks: list[tuple[Float64Array, Float64Array]] = []
        self._taken_in = 0
        self.is_independent = True
        """Whether all columns that were taken in are clearly independent."""

    def add(self, columns: NDArray[np.floating], scores: NDArray[np.floating]) -> None:
        """Add columns, one a row, and their scores. Nothing is computed before `weights` is called."""
        self._blocks.append((np.asarray(columns, np.float64), np.asarray(scores, np.float64)))

    def weights(self) -> Float64Array:
        """Return the solution."""
        while self.is_independent and self._taken_in < len(self._blocks):
            self.is_independent = self._extend(*self._blocks[self._taken_in])
            self._taken_in += 1
        if self.is_independent:
            return np.asarray(self._solution @ self._axes[: self._size])
        columns, scores = (np.concatenate(parts) for parts in zip(*self._blocks, strict=True))
        return np.asarray(np.linalg.lstsq(columns, scores, rcond=MIN_SINGULAR_SHARE)[0])

    def _extend(self, columns: Float64Array, scores: Float64Array) -> bool:
        """Extend the basis by the columns; return False, and change nothing, if they are not clearly independent."""
        end, axes = self._size + len(columns), self._axes[: self._size]
        if end > len(self._axes):
            return False
        inside = columns @ axes.T
        rest = columns - inside @ axes
        longest = max(self._longest, float(np.linalg.norm(columns, axis=1).max(initial=0)))
        triangle = _triangle(rest)
        if triangle is None or not triangle.diagonal().min(initial=np.inf) > MIN_CLEAR_SHARE * longest:
            return False
        inverse = np.linalg.inv(triangle)
        np.matmul(inverse, rest, out=self._axes[self._size : end])
        self._solution = np.concatenate([self._solution, inverse @ (scores - inside @ self._solution)])
        self._size, self._longest = end, longest
        return True


def _triangle(rows: Float64Array) -> Float64Array | None:
    """Return Cholesky's triangle of the rows' products, where they have one."""
    try:
        return np.asarray(np.linalg.cholesky(rows @ rows.T))
    except np.linalg.LinAlgError:
        return None


class IncrementalRidge:
    """Solves ``columnᵀ · w ≈ score`` for all columns so far, with the least error² + ridge · length of `w`².

    A pseudo-inverse divides by every singular value. When there are about as many columns as anchor queries, the
    smallest ones are nearly 0, and the solution fits noise exactly. Here a value s counts as s + ridge / s. Cholesky's
    triangle of ``columns · columnsᵀ + ridge`` grows by a block of rows, and nothing that is known is computed again.

    Parameters
    ----------
    dim : int
        The length of a column.
    ridge : float
        The ridge: added to the squares of singular values; above 0.

    Examples
    --------
    >>> span = IncrementalRidge(2, 1.0)
    >>> span.add(np.array([[1.0, 0.0]]), np.array([2.0]))
    >>> span.add(np.array([[0.0, 2.0]]), np.array([5.0]))
    >>> span.weights().round(6).tolist()
    [1.0, 2.0]
    """

    def __init__(self, dim: int, ridge: float):
        self._ridge, self._size = ridge, 0
        self._columns, self._halfway = np.empty((0, dim)), np.zeros(0)
        self._triangle: list[_Rows] = []
        self._waiting: list[tuple[Float64Array, Float64Array]] = []

    def add(self, columns: NDArray[np.floating], scores: NDArray[np.floating]) -> None:
        """Add columns, one a row, and their scores. Nothing is computed before it is asked for."""
        self._waiting.append((np.asarray(columns, np.float64), np.asarray(scores, np.float64)))

    def weights(self) -> Float64Array:
        """Return the solution."""
        for columns, scores in self._waiting:
            self._take_in(columns, scores)
        self._waiting.clear()
        return np.asarray(self._shares() @ self._columns[: self._size])

    def _take_in(self, columns: Float64Array, scores: Float64Array) -> None:
        """Add rows to the triangle, and go forward through them."""
        before = self._before(columns @ self._columns[: self._size].T)
        square = columns @ columns.T - before @ before.T
        square.flat[:: len(square) + 1] += self._ridge
        corner = np.linalg.inv(np.linalg.cholesky(square))
        self._triangle.append(_Rows(self._size, before, corner))
        self._halfway = np.concatenate([self._halfway, corner @ (scores - before @ self._halfway)])
        self._room(len(columns))[:] = columns

    def _before(self, products: Float64Array) -> Float64Array:
        """Return the triangle's new rows up to the diagonal, where `products` are those with all columns before."""
        for start, before, corner in self._triangle:
            end = start + len(corner)
            products[:, start:end] = (products[:, start:end] - products[:, :start] @ before.T) @ corner.T
        return products

    def _shares(self) -> Float64Array:
        """Return each column's share in the solution: go back through the triangle."""
        shares = self._halfway.copy()
        for start, before, corner in reversed(self._triangle):
            end = start + len(corner)
            shares[start:end] = shares[start:end] @ corner
            shares[:start] -= shares[start:end] @ before
        return shares

    def _room(self, count: int) -> Float64Array:
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
    before: Float64Array
    corner: Float64Array
