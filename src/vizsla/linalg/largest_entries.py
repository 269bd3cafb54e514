"""Sparse rows cut to their largest entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def largest_entries(matrix: csr_array, counts: NDArray[np.int64] | int) -> csr_array:
    """Keep the `counts` largest entries of every row, whatever their sign; of equals, the first columns.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> largest_entries(csr_array([[3.0, -4.0, 1.0]]), 2).toarray().tolist()
    [[3.0, -4.0, 0.0]]
    """
    from scipy.sparse import csr_array

    most = np.broadcast_to(counts, matrix.shape[0])
    if (np.diff(matrix.indptr) <= most).all():
        return matrix
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    order = np.lexsort((matrix.indices, -np.abs(matrix.data), rows))
    ranks = np.empty(matrix.nnz, dtype=np.int64)
    ranks[order] = np.arange(matrix.nnz) - matrix.indptr[rows]
    kept = ranks < most[rows]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=matrix.shape[0]))])
    return csr_array((matrix.data[kept], matrix.indices[kept], offsets), shape=matrix.shape).sorted_indices()
