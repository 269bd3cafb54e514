"""Scores of items as a function of query adapter and centroids, with gradients."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.typing import Float32Array, Int32Array


class QueryTables(NamedTuple):
    """A batch of queries, and its inner product with every centroid.

    Attributes
    ----------
    rows : float32 array, queries × dimensions
        As the base encoder gives them.
    adapted : float32 array, queries × dimensions
        Times the adapter.
    rotated : float32 array, queries × (subspaces · width)
        Turned by the rotation.
    tables : float32 array, subspaces × queries × centroids
        A query's inner products with a part's centroids.
    """

    rows: Float32Array
    adapted: Float32Array
    rotated: Float32Array
    tables: Float32Array

    def head(self, count: int) -> QueryTables:
        """Return the first queries."""
        return QueryTables(self.rows[:count], self.adapted[:count], self.rotated[:count], self.tables[:, :count])


class CodeScores:
    """``score(q, i) = Σₘ ⟨(R W q)ₘ, cₘ[code(i, m)]⟩``: codes and rotation R stay, adapter W and centroids c may change.

    Everything goes through a query's table of inner products: a score adds one entry a part (Eq. 15 of the JPQ paper),
    and a gradient is first added up in such a table (Eq. 18 and 19), whatever the dimensions.

    Parameters
    ----------
    codes : uint8 array, items × subspaces
        One code a part.
    centroids : float32 array, subspaces × centroids × width
        Changed in place by training.
    rotation : float32 array, (subspaces · width) × dim, optional
        Turns adapted queries; without one they are filled up with zeros.
    dim : int
        The length of a query's vector.
    stored : uint8 array, optional
        The codes as a native scan reads them, where they come from a `PqIndex`.

    Examples
    --------
    >>> scores = CodeScores(np.array([[0], [1]], np.uint8), np.array([[[1.0], [3.0]]], np.float32), None, dim=1)
    >>> asked = scores.asked(np.array([[2.0]], np.float32))
    >>> scores.of(asked, np.array([[1, 0]], np.int32)).tolist()
    [[6.0, 2.0]]
    """

    def __init__(
        self,
        codes: NDArray[np.uint8],
        centroids: Float32Array,
        rotation: Float32Array | None,
        *,
        dim: int,
        stored: NDArray[np.uint8] | None = None,
    ):
        if codes.ndim != 2 or centroids.ndim != 3 or codes.shape[1] != len(centroids):
            raise InputError(f"`codes` must have a column for each of {len(centroids)} subspaces. Got {codes.shape}.")
        if len(codes) and int(codes.max()) >= centroids.shape[1]:
            raise InputError(f"Every code must be below {centroids.shape[1]}. Got {int(codes.max())}.")
        # A row a part: a part's codes are looked up together.
        self.codes: NDArray[np.uint8] = np.ascontiguousarray(codes.T)
        self.centroids, self.rotation = np.array(centroids, np.float32), rotation
        self.adapter: Float32Array = np.eye(dim, dtype=np.float32)
        self.subspaces, self.width, self.dim = len(centroids), centroids.shape[2], dim
        self.stored = stored

    @classmethod
    def of_index(cls, index: PqIndex) -> CodeScores:
        """Take codes, centroids and rotation of an index."""
        return cls(index.codes, index.centroids, index.rotation, dim=index.dim, stored=index.stored_codes.stored)

    @property
    def items(self) -> int:
        """How many items there are."""
        return int(self.codes.shape[1])

    def take_codes(self, index: PqIndex) -> None:
        """Go on with the codes of another index; adapter and centroids are not changed."""
        self.codes, self.stored = np.ascontiguousarray(index.codes.T), index.stored_codes.stored

    def asked(self, rows: Float32Array) -> QueryTables:
        """Adapt and turn queries, and make their tables."""
        adapted = np.matmul(rows, self.adapter.T)
        rotated = self._rotated(adapted)
        return QueryTables(rows, adapted, rotated, np.matmul(self._pieces(rotated), self.centroids.transpose(0, 2, 1)))

    def of(self, asked: QueryTables, items: Int32Array) -> Float32Array:
        """Return the scores of these items, queries × items."""
        count = self.centroids.shape[1]
        places = (np.arange(len(items)) * count)[:, None]
        scores = np.zeros(items.shape, np.float32)
        for part in range(self.subspaces):
            scores += asked.tables[part].reshape(-1)[places + self.codes[part][items]]
        return scores

    def gradients(
        self, asked: QueryTables, items: Int32Array, by_score: NDArray[np.float64]
    ) -> tuple[Float32Array, Float32Array]:
        """Return the loss's derivatives by the centroids and by the adapter, given those by the items' scores."""
        by_centroid, by_adapted = self._gradients(asked, items, by_score)
        return by_centroid, by_adapted.T @ asked.rows

    def row_gradients(
        self, asked: QueryTables, items: Int32Array, by_score: NDArray[np.float64]
    ) -> tuple[Float32Array, Float32Array]:
        """Return the loss's derivatives by the centroids and by the queries' rows, for an encoder that learns."""
        by_centroid, by_adapted = self._gradients(asked, items, by_score)
        return by_centroid, np.asarray(by_adapted @ self.adapter)

    def decoded(self, first: int, last: int) -> Float32Array:
        """Return what the codes of some items stand for, in the rotated dimensions."""
        starts = np.arange(self.subspaces) * self.centroids.shape[1]
        places = self.codes[:, first:last].T + starts
        rows: Float32Array = self.centroids.reshape(-1, self.width).take(places, axis=0).reshape(last - first, -1)
        return rows

    def _rotated(self, adapted: Float32Array) -> Float32Array:
        if self.rotation is not None:
            return np.asarray(adapted @ self.rotation.T)
        wide = np.zeros((len(adapted), self.subspaces * self.width), np.float32)
        wide[:, : self.dim] = adapted
        return wide

    def _gradients(
        self, asked: QueryTables, items: Int32Array, by_score: NDArray[np.float64]
    ) -> tuple[Float32Array, Float32Array]:
        by_table = self._by_table(items, by_score)
        by_centroid = np.matmul(by_table.transpose(0, 2, 1), self._pieces(asked.rotated))
        return by_centroid, self._by_adapted(by_table)

    def _by_adapted(self, by_table: Float32Array) -> Float32Array:
        by_turned = np.matmul(by_table, self.centroids).transpose(1, 0, 2).reshape(by_table.shape[1], -1)
        return np.asarray(by_turned[:, : self.dim] if self.rotation is None else by_turned @ self.rotation)

    def _pieces(self, rotated: Float32Array) -> Float32Array:
        return rotated.reshape(len(rotated), self.subspaces, self.width).transpose(1, 0, 2)

    def _by_table(self, items: Int32Array, by_score: NDArray[np.float64]) -> Float32Array:
        """Add up the derivatives of all items that share a code: subspaces × queries × centroids."""
        queries, count = len(items), self.centroids.shape[1]
        places, weights = (np.arange(queries) * count)[:, None], by_score.reshape(-1)
        sums = np.empty((self.subspaces, queries, count), np.float32)
        for part in range(self.subspaces):
            at = (places + self.codes[part][items]).reshape(-1)
            sums[part] = np.bincount(at, weights, minlength=queries * count).reshape(queries, count)
        return sums


class VectorScores:
    """``score(q, i) = ⟨W q, xᵢ⟩`` (Eq. 13 of the JPQ paper): what ranking would be by if nothing were compressed.

    Parameters
    ----------
    vectors : float32 array, items × dimensions
        The items.
    codes : CodeScores
        Whose adapter is trained.
    """

    def __init__(self, vectors: Float32Array, codes: CodeScores):
        self.vectors, self.codes = vectors, codes

    def of(self, asked: QueryTables, items: Int32Array) -> Float32Array:
        """Return the scores of these items, queries × items."""
        return np.asarray(np.matmul(self.vectors[items], asked.adapted[:, :, None])[:, :, 0])

    def gradients(
        self, asked: QueryTables, items: Int32Array, by_score: NDArray[np.float64]
    ) -> tuple[Float32Array, Float32Array]:
        """Return the loss's derivatives by the centroids, which are 0, and by the adapter."""
        return np.zeros_like(self.codes.centroids), self._by_adapted(items, by_score).T @ asked.rows

    def row_gradients(
        self, asked: QueryTables, items: Int32Array, by_score: NDArray[np.float64]
    ) -> tuple[Float32Array, Float32Array]:
        """Return the loss's derivatives by the centroids, which are 0, and by the queries' rows."""
        return np.zeros_like(self.codes.centroids), np.asarray(self._by_adapted(items, by_score) @ self.codes.adapter)

    def _by_adapted(self, items: Int32Array, by_score: NDArray[np.float64]) -> Float32Array:
        return np.asarray(np.matmul(by_score.astype(np.float32)[:, None, :], self.vectors[items])[:, 0])
