"""Span: a least-squares solution that grows with its equations, without a pseudo-inverse."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
INDEPENDENT = 1e-6
"""A column is new when more of its length than this is outside of the span: less is the rounding of its float32."""

BLOCK = 64
"""Columns that are held against the basis in one product."""
PLAIN = 1e-4
"""Columns that are this independent of each other too are made orthonormal together; others go one by one."""


class Span:
    """Solves ``columnᵀ · w = score`` for all columns so far, by the shortest `w` with the least error.

    That is the pseudo-inverse's solution. The columns' span is kept as an orthonormal basis (Gram and Schmidt, twice),
    so new columns cost a product with the basis, and nothing that is known is computed again. While columns are
    independent, their coefficients are a triangle, and new columns add steps of substitution; repeated or constant
    columns make a small least-squares problem in the basis's own coordinates.

    Parameters
    ----------
    dim : int
        The length of a column.

    Examples
    --------
    >>> span = Span(2)
    >>> span.add(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([2.0, 4.0]))
    >>> span.weights().round(6).tolist()
    [3.0, 0.0]
    """

    def __init__(self, dim: int):
        self._basis = np.zeros((0, dim))
        self._coefficients: list[Doubles] = []
        self._scores: list[float] = []
        self._solution = np.zeros(0)
        self._independent = True

    def add(self, columns: NDArray[np.floating], scores: NDArray[np.floating]) -> None:
        """Add columns, one a row, and their scores."""
        for start in range(0, len(columns), BLOCK):
            self._add_block(columns[start : start + BLOCK], scores[start : start + BLOCK])

    def _add_block(self, columns: NDArray[np.floating], scores: NDArray[np.floating]) -> None:
        known, block = self._basis, np.asarray(columns, np.float64)
        along = block @ known.T
        rest = block - along @ known
        again = rest @ known.T
        along, rest = along + again, rest - again @ known
        whole = np.linalg.norm(block, axis=1)
        made = orthonormal(rest, PLAIN * whole) if len(known) + len(block) <= known.shape[1] else None
        if made is None:
            new = self._one_by_one(along, rest, whole, scores)
        else:
            new = self._together(along, made[0], made[1], np.asarray(scores, np.float64))
        self._basis = np.concatenate([known, new])

    def _together(self, along: Doubles, triangle: Doubles, new: Doubles, scores: Doubles) -> Doubles:
        """Take columns that are independent, of which `along` and `triangle` are the coefficients."""
        self._coefficients += [*np.concatenate([along, triangle], axis=1)]
        self._scores += scores.tolist()
        if self._independent:
            steps = np.linalg.solve(triangle, scores - along @ self._solution)
            self._solution = np.concatenate([self._solution, steps])
        return new

    def _one_by_one(self, along: Doubles, rest: Doubles, whole: Doubles, scores: NDArray[np.floating]) -> Doubles:
        new = np.zeros((0, rest.shape[1]))
        for old, left, length, score in zip(along, rest, whole.tolist(), scores.tolist(), strict=True):
            new = self._add(old, left, new, length, score)
        return new

    def weights(self) -> Doubles:
        """Return the solution."""
        if self._independent:
            return self._solution @ self._basis
        equations = np.zeros((len(self._scores), len(self._basis)))
        for row, coefficients in zip(equations, self._coefficients, strict=True):
            row[: len(coefficients)] = coefficients
        left, triangle = np.linalg.qr(equations)
        return np.asarray(np.linalg.solve(triangle, left.T @ np.asarray(self._scores)) @ self._basis)

    def _add(self, old: Doubles, rest: Doubles, new: Doubles, whole: float, score: float) -> Doubles:
        """Take one column, of which `old` is the share along the basis, against the block's new directions."""
        among = new @ rest
        rest = rest - among @ new
        again = new @ rest
        rest, along = rest - again @ new, np.concatenate([old, among + again])
        length = float(np.linalg.norm(rest))
        self._scores.append(score)
        if len(along) == len(rest) or length <= INDEPENDENT * whole:
            self._independent = False
            self._coefficients.append(along)
            return new
        self._coefficients.append(np.append(along, length))
        if self._independent:
            self._solution = np.append(self._solution, (score - float(along @ self._solution)) / length)
        return np.concatenate([new, rest[None] / length])


def orthonormal(rows: Doubles, least: Doubles) -> tuple[Doubles, Doubles] | None:
    """Return a lower triangle and orthonormal rows whose product is `rows`, by Cholesky, twice.

    None where a row is within its `least` distance of the span of those before it: squares would lose its digits.

    Examples
    --------
    >>> triangle, new = orthonormal(np.array([[3.0, 4.0], [0.0, 5.0]]), np.zeros(2))
    >>> triangle.round(6).tolist(), new.round(6).tolist()
    ([[5.0, 0.0], [4.0, 3.0]], [[0.6, 0.8], [-0.8, 0.6]])
    >>> orthonormal(np.ones((2, 2)), np.zeros(2)) is None
    True
    """
    try:
        first = np.linalg.cholesky(rows @ rows.T)
        if (np.diag(first) <= least).any():
            return None
        nearly = np.linalg.inv(first) @ rows
        second = np.linalg.cholesky(nearly @ nearly.T)
    except np.linalg.LinAlgError:
        return None
    return first @ second, np.linalg.inv(second) @ nearly
