"""Sparse rows in three flat arrays, and the offsets at which rows begin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla.core.validation import as_array
from vizsla.errors import InputError


def are_offsets(offsets: NDArray[np.int64], end: int, *, rows: int | None = None) -> bool:
    """Return whether offsets rise from 0 to `end`, one more than there are `rows`.

    Neighbors are compared, not subtracted: a difference of wild numbers wraps around and looks harmless.

    Examples
    --------
    >>> are_offsets(np.array([0, 2, 2, 5]), 5)
    True
    >>> are_offsets(np.array([0, 2**63 - 1, -2, 5]), 5)
    False
    """
    if offsets.ndim != 1 or not len(offsets) or (rows is not None and len(offsets) != rows + 1):
        return False
    return bool(offsets[0] == 0 and offsets[-1] == end and (offsets[1:] >= offsets[:-1]).all())


def row_numbers(offsets: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return the row of each entry, given where rows begin.

    Examples
    --------
    >>> row_numbers(np.array([0, 2, 2, 3])).tolist()
    [0, 0, 2]
    """
    if len(offsets) == 2:
        return np.zeros(int(offsets[1] - offsets[0]), np.int64)  # faster, which a single query notices
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def are_rising(numbers: NDArray[Any], below: int) -> bool:
    """Return whether numbers rise, each above the one before it, from 0 or more to less than `below`.

    Examples
    --------
    >>> are_rising(np.array([0, 2, 4]), 5), are_rising(np.array([2, 2]), 5)
    (True, False)
    >>> are_rising(np.array([0, 2**31 - 1, -(2**31), -1, 4], np.int32), 5)
    False
    """
    if numbers.ndim != 1:
        return False
    inside = not len(numbers) or bool(numbers[0] >= 0 and numbers[-1] < below)
    return inside and bool((numbers[1:] > numbers[:-1]).all())


if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix

    Matrix = NDArray[np.float32] | csr_array | csr_matrix


class SparseRows:
    """Row `i` holds the entries from ``offsets[i]`` to ``offsets[i + 1]``, by ascending column.

    Parameters
    ----------
    offsets : int64 array
        One more than there are rows.
    columns : int32 array
        Column numbers, ascending within a row.
    values : float32 array
        A number for each.
    width : int
        How many columns there are.

    Examples
    --------
    >>> rows = SparseRows.of(np.array([[0, 2], [3, 0]]))
    >>> rows.columns.tolist(), rows.values.tolist(), rows.shape
    ([1, 0], [2.0, 3.0], (2, 2))
    """

    __slots__ = ("columns", "offsets", "values", "width")

    def __init__(self, offsets: NDArray[np.int64], columns: NDArray[np.int32], values: NDArray[np.float32], width: int):
        self.offsets, self.columns, self.values, self.width = offsets, columns, values, width

    @classmethod
    def of(cls, matrix: Matrix | SparseRows, *, name: str = "matrix") -> SparseRows:
        """Read any sparse or dense matrix; arrays that fit already are shared, repeated entries are added up."""
        if isinstance(matrix, SparseRows):
            return matrix
        from scipy import sparse

        ready = sparse.issparse(matrix) or isinstance(matrix, np.ndarray)
        given: Any = matrix if ready else as_array(name, matrix, np.float32)
        if given.ndim != 2:
            raise InputError(f"`{name}` must be a matrix with two dimensions. Got {given.ndim}.")
        csr: Any = sound_csr(given, name)
        if not csr.has_canonical_format:
            csr = csr.copy()  # its arrays may be the caller's
            csr.sum_duplicates()
        return cls(
            np.ascontiguousarray(csr.indptr, dtype=np.int64),
            np.ascontiguousarray(csr.indices, dtype=np.int32),
            np.ascontiguousarray(csr.data, dtype=np.float32),
            csr.shape[1],
        )

    @classmethod
    def of_entries(cls, rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]) -> SparseRows:
        """Build the pattern of a matrix from its entries, each kept once, with the value 1.

        Examples
        --------
        >>> SparseRows.of_entries(np.array([1, 0, 1]), np.array([0, 1, 0]), (2, 2)).offsets.tolist()
        [0, 1, 2]
        """
        keys = np.unique(np.asarray(rows, dtype=np.int64) * shape[1] + columns)
        offsets = np.searchsorted(keys, np.arange(shape[0] + 1, dtype=np.int64) * shape[1]).astype(np.int64)
        numbers = (keys % max(shape[1], 1)).astype(np.int32)
        return cls(offsets, numbers, np.ones(len(keys), dtype=np.float32), shape[1])

    @classmethod
    def stacked(cls, parts: Sequence[SparseRows], width: int) -> SparseRows:
        """Return the parts' rows one below the other.

        Examples
        --------
        >>> SparseRows.stacked([SparseRows.of(np.eye(2)), SparseRows.of(np.eye(2))], 2).columns.tolist()
        [0, 1, 0, 1]
        """
        starts = np.cumsum([0, *(len(part.columns) for part in parts)])
        pairs = zip(parts, starts.tolist(), strict=False)
        offsets = np.concatenate([[0], *(part.offsets[1:] + start for part, start in pairs)]).astype(np.int64)
        columns = np.concatenate([np.zeros(0, np.int32), *(part.columns for part in parts)])
        values = np.concatenate([np.zeros(0, np.float32), *(part.values for part in parts)])
        return cls(offsets, columns, values, width)

    def __len__(self) -> int:
        return max(len(self.offsets) - 1, 0)

    def __repr__(self) -> str:
        return f"SparseRows({len(self):,} rows, {self.width:,} columns, {len(self.columns):,} entries)"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), self.width

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseRows):
            return NotImplemented
        pairs = ((self.offsets, other.offsets), (self.columns, other.columns), (self.values, other.values))
        return self.width == other.width and all(np.array_equal(a, b) for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]

    def row_numbers(self) -> NDArray[np.int64]:
        """Return the row of each entry."""
        return row_numbers(self.offsets)

    def take(self, numbers: NDArray[np.int64]) -> SparseRows:
        """Return some rows, in this order.

        Examples
        --------
        >>> SparseRows.of(np.array([[0, 2], [3, 0]])).take(np.array([1])).values.tolist()
        [3.0]
        """
        lengths = np.diff(self.offsets)[numbers]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        entries = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][numbers] - offsets[:-1], lengths)
        return SparseRows(offsets, self.columns[entries], self.values[entries], self.width)

    def with_values(self, values: NDArray[np.float32]) -> SparseRows:
        """Return the same entries with other values."""
        return SparseRows(self.offsets, self.columns, values, self.width)

    def to_scipy(self) -> csr_array:
        """Return the rows as a CSR array of float32 that can be changed."""
        from scipy.sparse import csr_array

        offsets: Any = self.offsets
        if len(self.columns) <= np.iinfo(np.int32).max:  # wide offsets would make SciPy widen the columns too
            offsets = offsets.astype(np.int32)
        parts = (np.require(part, requirements="W") for part in (self.values, self.columns))
        matrix = csr_array((*parts, offsets), shape=self.shape)
        matrix.has_sorted_indices = matrix.has_canonical_format = True
        return matrix

    def toarray(self) -> NDArray[np.float32]:
        """Return the rows in full."""
        full: NDArray[np.float32] = self.to_scipy().toarray()
        return full


def sound_csr(matrix: Any, name: str) -> csr_array:
    """Return a matrix as a CSR array whose numbers stay inside its bounds: SciPy follows them without looking.

    Examples
    --------
    >>> sound_csr(np.array([["a"]]), "labels")
    Traceback (most recent call last):
    vizsla.errors.InputError: `labels` must be numbers. Got <U1, such as np.str_('a').
    """
    from scipy import sparse

    given: Any = matrix if sparse.issparse(matrix) else as_array(name, matrix, np.float32)
    if given.ndim != 2:
        raise InputError(f"`{name}` must be a sound CSR matrix, with two dimensions. Got {given.ndim}.")
    try:
        csr: Any = sparse.csr_array(given)
    except (ValueError, TypeError) as error:
        raise InputError(f"`{name}` must be a sound CSR matrix. Got another: {error}.") from None
    numbers = csr.indices
    inside = not len(numbers) or 0 <= int(numbers.min()) <= int(numbers.max()) < csr.shape[1]
    if not inside or not are_offsets(csr.indptr, len(numbers), rows=csr.shape[0]) or len(csr.data) != len(numbers):
        raise InputError(f"`{name}` must be a sound CSR matrix. Got one whose parts do not fit together.")
    if csr.dtype.kind not in "fiub":
        raise InputError(f"`{name}` must be numbers. Got {csr.dtype}.")
    return csr  # type: ignore[no-any-return]


def as_scipy(matrix: Matrix | SparseRows) -> csr_array:
    """Return any sparse or dense matrix as a CSR array of float32, without stored zeros.

    Examples
    --------
    >>> as_scipy(np.array([[0, 2.5]])).indices.tolist()
    [1]
    """
    if isinstance(matrix, SparseRows):
        matrix = matrix.to_scipy()
    csr: Any = sound_csr(matrix, "matrix").astype(np.float32, copy=False)
    if not csr.has_canonical_format or not csr.data.all():
        csr = csr.copy()  # its arrays may be the caller's
        csr.sum_duplicates()
        csr.eliminate_zeros()
    return csr  # type: ignore[no-any-return]
