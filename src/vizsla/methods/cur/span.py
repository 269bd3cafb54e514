"""Span: a least-squares solution that grows with its equations, without a pseudo-inverse."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
INDEPENDENT = 1e-9
"""A column is new when so much of its length, or more, is outside of the span."""


class Span:
    """Solves ``columnᵀ · w = score`` for all columns so far, by the shortest `w` with the least error.

    That is the pseudo-inverse's solution. The columns' span is kept as an orthonormal basis (Gram and Schmidt, twice),
    so a new column costs one product with the basis, and nothing that is known is computed again. While columns are
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
        self._solution: list[float] = []
        self._independent = True

    def add(self, columns: NDArray[np.floating], scores: NDArray[np.floating]) -> None:
        """Add columns, one a row, and their scores."""
        size, known = len(self._basis), self._basis
        self._basis = np.concatenate([known, np.zeros((min(len(columns), known.shape[1] - size), known.shape[1]))])
        for column, score in zip(np.asarray(columns, np.float64), scores.tolist(), strict=True):
            size = self._add(column, score, size)
        self._basis = self._basis[:size]

    def weights(self) -> Doubles:
        """Return the solution."""
        if self._independent:
            return np.asarray(self._solution) @ self._basis
        equations = np.zeros((len(self._scores), len(self._basis)))
        for row, coefficients in zip(equations, self._coefficients, strict=True):
            row[: len(coefficients)] = coefficients
        left, triangle = np.linalg.qr(equations)
        return np.asarray(np.linalg.solve(triangle, left.T @ np.asarray(self._scores)) @ self._basis)

    def _add(self, column: Doubles, score: float, size: int) -> int:
        basis = self._basis[:size]
        along = basis @ column
        rest = column - along @ basis
        again = basis @ rest
        along, rest = along + again, rest - again @ basis
        length = float(np.linalg.norm(rest))
        self._scores.append(score)
        if size == len(column) or length <= INDEPENDENT * float(np.linalg.norm(column)):
            self._independent = False
            self._coefficients.append(along)
            return size
        self._basis[size] = rest / length
        self._coefficients.append(np.append(along, length))
        if self._independent:
            self._solution.append((score - float(along @ np.asarray(self._solution))) / length)
        return size + 1
