"""Matrices as the native core reads them: contiguous offsets, ascending columns, float32 values."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError
from vizsla.sparse_rows import SparseRows
from vizsla.sparse_rows import as_scipy as as_scipy

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix

    Matrix = NDArray[np.float32] | csr_array | csr_matrix


class Csr(NamedTuple):
    """A sparse matrix in three arrays, and its width."""

    offsets: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]
    width: int

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.offsets) - 1

    def row_numbers(self) -> NDArray[np.int64]:
        """The row of each entry."""
        return np.repeat(np.arange(self.rows), np.diff(self.offsets))


def as_csr(matrix: Matrix | Csr | SparseRows, name: str) -> Csr:
    """Any sparse or dense matrix in the native layout; the arrays are shared where they already fit.

    Examples
    --------
    >>> as_csr(np.array([[0, 2], [3, 0]]), "X").columns.tolist()
    [1, 0]
    """
    if isinstance(matrix, Csr):
        return matrix
    if isinstance(matrix, SparseRows):
        return Csr(matrix.offsets, matrix.columns, matrix.values, matrix.width)
    from scipy import sparse

    if not sparse.issparse(matrix) and np.ndim(matrix) != 2:
        raise InputError(f"`{name}` must be a matrix with two dimensions. Got {np.ndim(matrix)}.")
    csr = sparse.csr_array(matrix)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return Csr(
        np.ascontiguousarray(csr.indptr, dtype=np.int64),
        np.ascontiguousarray(csr.indices, dtype=np.int32),
        np.ascontiguousarray(csr.data, dtype=np.float32),
        csr.shape[1],
    )


def from_entries(rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]) -> Csr:
    """Build the pattern of a matrix from its entries, each kept once, with the value 1.

    Examples
    --------
    >>> from_entries(np.array([1, 0, 1]), np.array([0, 1, 0]), (2, 2)).offsets.tolist()
    [0, 1, 2]
    """
    keys = np.unique(np.asarray(rows, dtype=np.int64) * shape[1] + columns)
    offsets = np.searchsorted(keys, np.arange(shape[0] + 1, dtype=np.int64) * shape[1]).astype(np.int64)
    return Csr(offsets, (keys % max(shape[1], 1)).astype(np.int32), np.ones(len(keys), dtype=np.float32), shape[1])
