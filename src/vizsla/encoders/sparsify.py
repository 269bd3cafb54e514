"""Rows of weights over a vocabulary: the strongest kept, added to others, or seen through some columns alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.sparse_rows import SparseRows


def sparsified(values: NDArray[np.float32], tokens: NDArray[np.int64], most: int, width: int) -> SparseRows:
    """Return rows that keep their `most` highest values above 0.

    Parameters
    ----------
    values : float32 array, texts × tokens
        A value for every token of `tokens`.
    tokens : int64 array
        Which columns these are, ascending.
    most : int
        How many a row keeps.
    width : int
        How many columns there are.

    Examples
    --------
    >>> rows = sparsified(np.float32([[0.5, 2.0, 1.0]]), np.array([1, 4, 5]), 2, 6)
    >>> rows.columns.tolist(), rows.values.tolist()
    ([4, 5], [2.0, 1.0])
    """
    if values.shape[1] > most:
        best = np.sort(np.argpartition(-values, most - 1, axis=1)[:, :most], axis=1)
        values = np.take_along_axis(values, best, axis=1)
    else:
        best = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    kept = values > 0
    offsets = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64)
    return SparseRows(offsets, tokens[best[kept]].astype(np.int32), np.ascontiguousarray(values[kept]), width)


def summed(one: SparseRows, other: SparseRows) -> SparseRows:
    """Return the rows' sums.

    Examples
    --------
    >>> one = SparseRows.of(np.array([[0, 1, 2]]))
    >>> summed(one, SparseRows.of(np.array([[3, 0, 2]]))).values.tolist()
    [3.0, 1.0, 4.0]
    """
    return SparseRows.of(one.to_scipy() + other.to_scipy())


def columns(matrix: Any, chosen: NDArray[np.int64]) -> Any:
    """Return a CSR array's chosen columns, ascending, without going through a matrix of all columns.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> columns(csr_array([[1, 0, 2], [0, 3, 4]]), np.array([0, 2])).toarray().tolist()
    [[1, 2], [0, 4]]
    """
    from scipy.sparse import csr_array

    places = np.full(matrix.shape[1], -1, np.int32)
    places[chosen] = np.arange(len(chosen), dtype=np.int32)
    found = places[matrix.indices]
    kept = found >= 0
    ends = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
    return csr_array((matrix.data[kept], found[kept], ends), shape=(matrix.shape[0], len(chosen)))
