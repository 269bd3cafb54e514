"""DampedSpan: a ridge regression that grows with its equations, for scores that no combination fits exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


class DampedSpan:
    """Solves ``columnᵀ · w ≈ score`` for all columns so far, with the least error² + ridge · length of `w`².

    A pseudo-inverse divides by every singular value. When there are about as many columns as anchor queries, the
    smallest ones are nearly 0, and the solution fits noise exactly. Here a value s counts as s + ridge / s. Columns
    are taken in as by Gram and Schmidt: Cholesky's triangle of ``columns · columnsᵀ + ridge`` grows by a block, and
    nothing that is known is computed again.

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
        self._ridge = ridge
        self._axes, self._solution = np.zeros((0, dim)), np.zeros(0)
        self._waiting: list[tuple[Doubles, Doubles]] = []

    def add(self, columns: NDArray[np.floating], scores: NDArray[np.floating]) -> None:
        """Add columns, one a row, and their scores. Nothing is computed before it is asked for."""
        self._waiting.append((np.asarray(columns, np.float64), np.asarray(scores, np.float64)))

    def weights(self) -> Doubles:
        """Return the solution."""
        for columns, scores in self._waiting:
            self._take_in(columns, scores)
        self._waiting.clear()
        return np.asarray(self._solution @ self._axes)

    def _take_in(self, columns: Doubles, scores: Doubles) -> None:
        inside = columns @ self._axes.T
        left = columns @ columns.T - inside @ inside.T
        left[np.diag_indices_from(left)] += self._ridge
        inverse = np.linalg.inv(np.linalg.cholesky(left))
        self._solution = np.concatenate([self._solution, inverse @ (scores - inside @ self._solution)])
        self._axes = np.concatenate([self._axes, inverse @ (columns - inside @ self._axes)])
