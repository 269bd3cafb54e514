"""CarefulSpan: a least-squares solution that grows with its equations, however nearly these repeat each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vizsla.methods.cur.reflections import Factored, Reflections

Doubles = NDArray[np.float64]
INDEPENDENT = 1e-6
"""A column is new when more of its length than this is outside of the span: less is the rounding of its float32."""
BLOCK = 64
"""Columns that are taken in together."""


class CarefulSpan:
    """What `Span` becomes once a column hardly leaves the span of those before it.

    While columns are independent, their coordinates are a triangle, and new columns add steps of substitution; repeated
    or constant columns make a small least-squares problem in the basis's own coordinates.

    Parameters
    ----------
    dim : int
        The length of a column.

    Examples
    --------
    >>> span = CarefulSpan(2)
    >>> span.add(np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([2.0, 6.0]))
    >>> span.weights().round(6).tolist()
    [2.0, 2.0]
    """

    def __init__(self, dim: int):
        self._turn = Reflections(dim)
        self._coordinates: list[Doubles] = []
        self._scores = np.zeros(0)
        self._solution = np.zeros(0)
        self._independent = True

    def add(self, columns: NDArray[np.floating], scores: NDArray[np.floating]) -> None:
        """Add columns, one a row, and their scores."""
        for start in range(0, len(columns), BLOCK):
            self._add(np.asarray(columns[start : start + BLOCK], np.float64), scores[start : start + BLOCK])

    def weights(self) -> Doubles:
        """Return the solution."""
        return self._turn.back(self._solution if self._independent else self._least_squares())

    def _add(self, block: Doubles, scores: NDArray[np.floating]) -> None:
        size, turned = self._turn.size, self._turn.turned(block)
        new = self._new(turned, INDEPENDENT * np.linalg.norm(block, axis=1))
        triangle = None if new is None else self._turn.take_in(new)
        self._scores = np.concatenate([self._scores, scores])
        if self._independent and triangle is not None and len(triangle) == len(block):
            steps = np.linalg.solve(triangle, scores - turned[:, :size] @ self._solution)
            self._solution = np.concatenate([self._solution, steps])
            self._coordinates.append(np.concatenate([turned[:, :size], triangle], axis=1))
        else:
            self._independent = False
            self._coordinates.append(self._turn.turned(block)[:, : self._turn.size])

    def _new(self, turned: Doubles, least: Doubles) -> Factored | None:
        """Return the parts of the columns that are outside of the span of all before them."""
        kept = np.flatnonzero(np.linalg.norm(turned[:, self._turn.size :], axis=1) > least)
        while len(kept):
            parts = self._turn.factored(turned[kept])
            inside = np.flatnonzero(parts.lengths() <= least[kept][: self._turn.room])
            if not len(inside):
                return parts
            kept = np.delete(kept, inside[0])  # what comes after it was measured wrongly
        return None

    def _least_squares(self) -> Doubles:
        equations = np.zeros((len(self._scores), self._turn.size))
        start = 0
        for part in self._coordinates:
            equations[start : start + len(part), : part.shape[1]] = part
            start += len(part)
        left, triangle = np.linalg.qr(equations)
        return np.asarray(np.linalg.solve(triangle, left.T @ self._scores))
