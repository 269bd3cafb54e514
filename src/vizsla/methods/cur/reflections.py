"""Reflections: an orthonormal basis that grows block by block, kept as the mirrors that turn vectors into it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


class Factored(NamedTuple):
    """LAPACK's factors of some vectors: coordinates below the diagonal, mirrors above it; and the mirrors' scales."""

    packed: Doubles
    scales: Doubles

    def lengths(self) -> Doubles:
        """Return how much of each vector is outside of the span of those before it."""
        return np.abs(np.diagonal(self.packed))


class Reflections:
    """A rotation whose first `size` axes span all vectors that were taken in; every vector is a row.

    Householder's mirrors, a block at a time (I - VᵀTV), keep it orthonormal to rounding however nearly dependent the
    vectors are, at a third of the cost of Gram and Schmidt done twice.

    Parameters
    ----------
    dim : int
        The length of a vector.

    Examples
    --------
    >>> turn = Reflections(2)
    >>> abs(turn.take_in(turn.factored(turn.turned(np.array([[3.0, 4.0]]))))).round(6).tolist()
    [[5.0]]
    >>> abs(turn.turned(np.array([[3.0, 4.0], [-4.0, 3.0]]))).round(6).tolist()
    [[5.0, 0.0], [0.0, 5.0]]
    """

    def __init__(self, dim: int):
        self.dim, self.size = dim, 0
        self._blocks: list[tuple[int, Doubles, Doubles]] = []

    def turned(self, rows: Doubles) -> Doubles:
        """Return vectors in the basis's own coordinates."""
        found = np.array(rows, np.float64)
        for start, mirrors, inner in self._blocks:
            _reflect(found[:, start:], mirrors, inner)
        return found

    def back(self, coordinates: Doubles) -> Doubles:
        """Return the vector with these first coordinates; the others are 0."""
        found = np.zeros((1, self.dim))
        found[0, : len(coordinates)] = coordinates
        for start, mirrors, inner in reversed(self._blocks):
            _reflect(found[:, start:], mirrors, inner.T)
        return np.asarray(found[0])

    def factored(self, turned: Doubles) -> Factored:
        """Take what is outside of the span of turned vectors apart, as many as there is room for."""
        packed, scales = np.linalg.qr(turned[: self.room, self.size :].T, mode="raw")
        return Factored(packed, scales)

    @property
    def room(self) -> int:
        """How many more axes there can be."""
        return self.dim - self.size

    def take_in(self, parts: Factored) -> Doubles:
        """Add axes for vectors, which are independent; return these vectors' coordinates along them."""
        count = len(parts.packed)
        mirrors = np.triu(parts.packed, 1)
        np.fill_diagonal(mirrors, 1.0)
        inner = np.triu(mirrors @ mirrors.T, 1)
        np.fill_diagonal(inner, 1 / np.where(parts.scales == 0, 1e-300, parts.scales))  # a mirror that does nothing
        self._blocks.append((self.size, mirrors, np.asarray(np.linalg.inv(inner), np.float64)))
        self.size += count
        return np.tril(parts.packed[:, :count])


def _reflect(rows: Doubles, mirrors: Doubles, inner: Doubles) -> None:
    rows -= ((rows @ mirrors.T) @ inner) @ mirrors
