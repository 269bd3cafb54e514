"""Span: a least-squares solution that grows with its equations, without a pseudo-inverse."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vizsla.methods.cur.careful_span import CarefulSpan
from vizsla.methods.cur.clear_basis import ClearBasis

Doubles = NDArray[np.float64]


class Span:
    """Solves ``columnᵀ · w = score`` for all columns so far, by the shortest `w` with the least error.

    That is the pseudo-inverse's solution. The columns' span is kept as an orthonormal basis, so new columns cost a few
    products, and nothing that is known is computed again: quickly while all columns are clearly independent, and
    carefully from the first on that are not.

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
        self._quick: ClearBasis | None = ClearBasis(dim)
        self._careful = CarefulSpan(dim)
        self._added: list[tuple[Doubles, Doubles]] = []
        self._taken_in = 0

    @property
    def is_quick(self) -> bool:
        """Whether all columns that were taken in are clearly independent."""
        return self._quick is not None

    def add(self, columns: NDArray[np.floating], scores: NDArray[np.floating]) -> None:
        """Add columns, one a row, and their scores. Nothing is computed before it is asked for."""
        self._added.append((np.asarray(columns, np.float64), np.asarray(scores, np.float64)))

    def weights(self) -> Doubles:
        """Return the solution."""
        while self._taken_in < len(self._added):
            self._take_in(*self._added[self._taken_in])
            self._taken_in += 1
        return self._careful.weights() if self._quick is None else self._quick.weights()

    def _take_in(self, columns: Doubles, scores: Doubles) -> None:
        if self._quick is not None and self._quick.add(columns, scores):
            return
        if self._quick is not None:
            self._quick = None
            for before in self._added[: self._taken_in]:
                self._careful.add(*before)
        self._careful.add(columns, scores)
