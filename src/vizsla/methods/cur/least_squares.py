"""Incremental least squares, with and without a ridge."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.typing import Float64Array


class Factored(NamedTuple):
    """LAPACK's factors of some vectors: coordinates below the diagonal, mirrors above it; and the mirrors' scales."""

    packed: Float64Array
    scales: Float64Array

    def lengths(self) -> Float64Array:
        """Return how much of each vector is outside of the span of those before it."""
        return np.abs(np.diagonal(self.packed))


class HouseholderBasis:
    """A rotation whose first `size` axes span all vectors that were taken in; every vector is a row.

    Householder's mirrors, a block at a time (I - VᵀTV), keep it orthonormal to rounding however nearly dependent the
    vectors are, at a third of the cost of Gram and Schmidt done twice.

    Parameters
    ----------
    dim : int
        The length of a vector.

    Examples
    --------
    >>> turn = HouseholderBasis(2)
    >>> abs(turn.take_in(turn.factored(turn.reflected(np.array([[3.0, 4.0]]))))).round(6).tolist()
    [[5.0]]
    >>> abs(turn.reflected(np.array([[3.0, 4.0], [-4.0, 3.0]]))).round(6).tolist()
    [[5.0, 0.0], [0.0, 5.0]]
    """

    def __init__(self, dim: int):
        self.dim, self.size = dim, 0
        self._blocks: list[tuple[int, Float64Array, Float64Array]] = []

    def reflected(self, rows: Float64Array) -> Float64Array:
        """Return vectors in the basis's own coordinates."""
        found = np.array(rows, np.float64)
        for start, mirrors, inner in self._blocks:
            _reflect(found[:, start:], mirrors, inner)
        return found

    def back(self, coordinates: Float64Array) -> Float64Array:
        """Return the vector with these first coordinates; the others are 0."""
        found = np.zeros((1, self.dim))
        found[0, : len(coordinates)] = coordinates
        for start, mirrors, inner in reversed(self._blocks):
            _reflect(found[:, start:], mirrors, inner.T)
        return np.asarray(found[0])

    def factored(self, reflected: Float64Array) -> Factored:
        """Take what is outside of the span of reflected vectors apart, as many as there is room for."""
        packed, scales = np.linalg.qr(reflected[: self.room, self.size :].T, mode="raw")
        return Factored(packed, scales)

    @property
    def room(self) -> int:
        """How many more axes there can be."""
        return self.dim - self.size

    def take_in(self, parts: Factored) -> Float64Array:
        """Add axes for vectors, which are independent; return these vectors' coordinates along them."""
        count = len(parts.packed)
        mirrors = np.triu(parts.packed, 1)
        np.fill_diagonal(mirrors, 1.0)
        inner = np.triu(mirrors @ mirrors.T, 1)
        np.fill_diagonal(inner, 1 / np.where(parts.scales == 0, 1e-300, parts.scales))  # a mirror that does nothing
        self._blocks.append((self.size, mirrors, np.asarray(np.linalg.inv(inner), np.float64)))
        self.size += count
        return np.tril(parts.packed[:, :count])


def _reflect(rows: Float64Array, mirrors: Float64Array, inner: Float64Array) -> None:
    rows -= ((rows @ mirrors.T) @ inner) @ mirrors


MIN_INDEPENDENT_SHARE = 1e-6
"""A column is new when more of its length than this is outside of the span: less is the rounding of its float32."""
COLUMNS_PER_BLOCK = 64
"""Columns that are taken in together."""


class RankRevealingLstsq:
    """What `IncrementalLstsq` becomes once a column hardly leaves the span of those before it.

    While columns are independent, their coordinates are a triangle, and new columns add steps of substitution; repeated
    or constant columns make a small least-squares problem in the basis's own coordinates.

    Parameters
    ----------
    dim : int
        The length of a column.

    Examples
    --------
    >>> span = RankRevealingLstsq(2)
    >>> span.add(np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([2.0, 6.0]))
    >>> span.weights().round(6).tolist()
    [2.0, 2.0]
    """

    def __init__(self, dim: int):
        self._turn = HouseholderBasis(dim)
        self._coordinates: list[Float64Array] = []
        self._scores = np.zeros(0)
        self._solution = np.zeros(0)
        self._independent = True

    def add(self, columns: NDArray[np.floating], scores: NDArray[np.floating]) -> None:
        """Add columns, one a row, and their scores."""
        for start in range(0, len(columns), COLUMNS_PER_BLOCK):
            self._add(
                np.asarray(columns[start : start + COLUMNS_PER_BLOCK], np.float64),
                scores[start : start + COLUMNS_PER_BLOCK],
            )

    def weights(self) -> Float64Array:
        """Return the solution."""
        return self._turn.back(self._solution if self._independent else self._least_squares())

    def _add(self, block: Float64Array, scores: NDArray[np.floating]) -> None:
        size, reflected = self._turn.size, self._turn.reflected(block)
        new = self._new(reflected, MIN_INDEPENDENT_SHARE * np.linalg.norm(block, axis=1))
        triangle = None if new is None else self._turn.take_in(new)
        self._scores = np.concatenate([self._scores, scores])
        if self._independent and triangle is not None and len(triangle) == len(block):
            steps = np.linalg.solve(triangle, scores - reflected[:, :size] @ self._solution)
            self._solution = np.concatenate([self._solution, steps])
            self._coordinates.append(np.concatenate([reflected[:, :size], triangle], axis=1))
        else:
            self._independent = False
            self._coordinates.append(self._turn.reflected(block)[:, : self._turn.size])

    def _new(self, reflected: Float64Array, least: Float64Array) -> Factored | None:
        """Return the parts of the columns that are outside of the span of all before them."""
        kept = np.flatnonzero(np.linalg.norm(reflected[:, self._turn.size :], axis=1) > least)
        while len(kept):
            parts = self._turn.factored(reflected[kept])
            inside = np.flatnonzero(parts.lengths() <= least[kept][: self._turn.room])
            if not len(inside):
                return parts
            kept = np.delete(kept, inside[0])  # what comes after it was measured wrongly
        return None

    def _least_squares(self) -> Float64Array:
        equations = np.zeros((len(self._scores), self._turn.size))
        start = 0
        for part in self._coordinates:
            equations[start : start + len(part), : part.shape[1]] = part
            start += len(part)
        left, triangle = np.linalg.qr(equations)
        return np.asarray(np.linalg.solve(triangle, left.T @ self._scores))


MIN_CLEAR_SHARE = 1e-3
"""Of the longest column, how much of each must be outside of the span of those before it. The basis is then orthogonal
to about the square of its inverse times the rounding of a float64, 1e-10, without a second pass."""


class FastLstsq:
    """Solves ``columnᵀ · w = score`` for all columns so far by the shortest `w`, and refuses what it is too quick for.

    Gram and Schmidt, a block of columns at a time and only once; inside of a block, Cholesky's triangle of the columns'
    products. That takes two large products where mirrors take many small ones.

    Parameters
    ----------
    dim : int
        The length of a column.

    Examples
    --------
    >>> basis = FastLstsq(3)
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

    def add(self, columns: Float64Array, scores: Float64Array) -> bool:
        """Add columns, one a row, and their scores; or return False, and leave everything as it is."""
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

    def weights(self) -> Float64Array:
        """Return the solution."""
        return np.asarray(self._solution @ self._axes[: self._size])


def _triangle(rows: Float64Array) -> Float64Array | None:
    """Return Cholesky's triangle of the rows' products, where they have one."""
    try:
        return np.asarray(np.linalg.cholesky(rows @ rows.T))
    except np.linalg.LinAlgError:
        return None


class IncrementalLstsq:
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
    >>> span = IncrementalLstsq(2)
    >>> span.add(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([2.0, 4.0]))
    >>> span.weights().round(6).tolist()
    [3.0, 0.0]
    """

    def __init__(self, dim: int):
        self._quick: FastLstsq | None = FastLstsq(dim)
        self._careful = RankRevealingLstsq(dim)
        self._added: list[tuple[Float64Array, Float64Array]] = []
        self._taken_in = 0

    @property
    def is_quick(self) -> bool:
        """Whether all columns that were taken in are clearly independent."""
        return self._quick is not None

    def add(self, columns: NDArray[np.floating], scores: NDArray[np.floating]) -> None:
        """Add columns, one a row, and their scores. Nothing is computed before it is asked for."""
        self._added.append((np.asarray(columns, np.float64), np.asarray(scores, np.float64)))

    def weights(self) -> Float64Array:
        """Return the solution."""
        while self._taken_in < len(self._added):
            self._take_in(*self._added[self._taken_in])
            self._taken_in += 1
        return self._careful.weights() if self._quick is None else self._quick.weights()

    def _take_in(self, columns: Float64Array, scores: Float64Array) -> None:
        if self._quick is not None and self._quick.add(columns, scores):
            return
        if self._quick is not None:
            self._quick = None
            for before in self._added[: self._taken_in]:
                self._careful.add(*before)
        self._careful.add(columns, scores)


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
        What is added to the squares of singular values; above 0.

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
