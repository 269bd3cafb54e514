"""Span: a least-squares solution that grows with its equations, without a pseudo-inverse."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
INDEPENDENT = 1e-6
"""A column is new when more of its length than this is outside of the span: less is the rounding of its float32."""

BLOCK = 32
"""Columns that are held against the basis in one product; among themselves they go one by one."""


class Span:
    """Solves ``columnᵀ · w = score`` for all columns so far, by the shortest `w` with the least error.

    That is the pseudo-inverse's solution. The columns' span is kept as an orthonormal basis (Gram and Schmidt, twice),
    so new columns cost a product with the basis, and nothing that is known is computed again. While columns are
    independent, their coefficients are a triangle, and a new column adds one step of substitution; repeated or constant
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
        new = np.zeros((0, known.shape[1]))
        for old, left, column, score in zip(along, rest, block, scores.tolist(), strict=True):
            new = self._add(old, left, new, float(np.linalg.norm(column)), score)
        self._basis = np.concatenate([known, new])

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
