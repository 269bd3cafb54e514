"""The few things that are done with a log's rows, the same for arrays and for sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError
from vizsla.typing import Float32Array

Rows = Any
"""A float32 array or a CSR array of it, a row a text."""


def is_sparse(rows: Rows) -> bool:
    """Return whether the rows are a sparse matrix."""
    return not isinstance(rows, np.ndarray)


def numbers_of(rows: Rows) -> Float32Array:
    """Return all stored numbers."""
    return np.asarray(rows.data if is_sparse(rows) else rows)


def says(rows: Rows) -> NDArray[np.bool_]:
    """Return which rows are not all zeros."""
    if is_sparse(rows):
        return np.asarray((rows != 0).sum(axis=1)).reshape(-1) > 0
    return np.asarray(np.any(rows != 0, axis=1))


def unit_rows(rows: Any) -> Rows:
    """Return the rows with length 1; zeros stay zeros.

    Examples
    --------
    >>> unit_rows([[3, 4], [0, 0]]).round(2).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    matrix = rows.tocsr().astype(np.float32) if hasattr(rows, "tocsr") else np.asarray(rows, np.float32)
    if matrix.ndim != 2 or not np.isfinite(numbers_of(matrix)).all():
        raise InputError(f"Queries must be encoded to rows of finite numbers. Got others, of shape {matrix.shape}.")
    # float64, row by row: the length does not depend on which queries are encoded together.
    return divided(matrix, lengths_of(matrix))


def divided(rows: Rows, lengths: NDArray[np.float64]) -> Rows:
    """Return each row by its length, as float32; a length of 0 leaves it."""
    by = lengths if lengths.all() else np.where(lengths > 0, lengths, 1.0)
    if not is_sparse(rows):
        return np.asarray(rows / by[:, None], np.float32)
    other = rows.copy()
    other.data = np.asarray(rows.data / np.repeat(by, np.diff(rows.indptr)), np.float32)
    return other


def lengths_of(rows: Rows) -> NDArray[np.float64]:
    """Return the rows' Euclidean lengths."""
    return np.asarray(np.sqrt(_squares(rows)))


def widened(rows: Rows, dim: int) -> Rows:
    """Return sparse rows with more columns, all empty; rows that have as many are returned as they are.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> widened(csr_array([[1.0, 2.0]]), 3).toarray().tolist()
    [[1.0, 2.0, 0.0]]
    """
    if rows.shape[1] == dim:
        return rows
    from scipy.sparse import csr_array

    return csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], dim))


def products(queries: Rows, rows: Rows) -> Float32Array:
    """Return all inner products as an array."""
    found = queries @ rows.T
    return np.asarray(found.toarray() if is_sparse(found) else found, np.float32)


def stacked(parts: list[Rows]) -> Rows:
    """Return the parts' rows one below the other."""
    if not is_sparse(parts[0]):
        return np.concatenate(parts)
    from scipy.sparse import csr_array, vstack

    return csr_array(vstack(parts, format="csr"))


def _squares(rows: Rows) -> NDArray[np.float64]:
    if not is_sparse(rows):
        return np.asarray(np.square(rows, dtype=np.float64).sum(axis=1))
    squares = rows.astype(np.float64)
    squares.data = np.square(squares.data)
    return np.asarray(squares.sum(axis=1)).reshape(-1)
