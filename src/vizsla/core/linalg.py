"""Linear algebra that gives the same bits on every machine: exact products, small eigenproblems, SVD."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla.core.sparse import row_numbers
from vizsla.core.validation import generator
from vizsla.typing import Float32Array, Float64Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def unit_rows(rows: Any, *, least: float = 0.0) -> NDArray[np.float32]:
    """Divide every row by its Euclidean length; a row that is not longer than `least` becomes zeros.

    Examples
    --------
    >>> unit_rows([[3.0, 4.0], [0.0, 0.0]]).round(3).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    values = np.asarray(rows, np.float32)
    lengths = np.sqrt(np.square(values, dtype=np.float64).sum(axis=1, keepdims=True))
    long = lengths > least
    return np.where(long, values / np.where(long, lengths, 1.0), 0.0).astype(np.float32)


# Matrix products whose every bit is the same however many threads BLAS takes.
#
# BLAS adds in an order that depends on its threads, and floating-point sums depend on the order. Sums of whole numbers
# do not, as long as none exceeds 2⁵³. So the factors are rounded to whole numbers of some twenty bits first, about
# what float32 holds, and float64 then adds without any error.

FIXED_POINT_BITS = 20
"""Of a whole number that stands for an entry of a tall matrix."""
ROWS_PER_PRODUCT = 1 << 12
"""Rows whose products are added in BLAS: 2¹² · 2²⁰ · 2²⁰ is below 2⁵³."""


def gram(columns: Float32Array) -> Float64Array:
    """Return the inner products of all pairs of columns.

    Examples
    --------
    >>> gram(np.array([[3.0, 0.0], [4.0, 2.0]], np.float32)).tolist()
    [[25.0, 8.0], [8.0, 4.0]]
    """
    steps = _steps(columns, FIXED_POINT_BITS)
    total = np.zeros((columns.shape[1], columns.shape[1]))
    for start in range(0, len(columns), ROWS_PER_PRODUCT):
        whole = np.rint(columns[start : start + ROWS_PER_PRODUCT] / steps)
        total += whole.T @ whole
    return np.asarray(total * steps[:, None] * steps[None, :], np.float64)


def rotated_by(columns: Float32Array, turns: Float64Array) -> Float32Array:
    """Return ``columns @ turns`` for a small matrix of turns.

    Examples
    --------
    >>> rotated_by(np.array([[3.0, 4.0]], np.float32), np.array([[0.0, 1.0], [2.0, 0.0]])).tolist()
    [[8.0, 3.0]]
    """
    steps = _steps(columns, FIXED_POINT_BITS)
    scaled = turns * steps[:, None]
    small = _steps(scaled, 53 - FIXED_POINT_BITS - max(1, len(turns)).bit_length())
    whole, parts = np.rint(scaled / small), [np.zeros((0, turns.shape[1]), np.float32)]
    for start in range(0, len(columns), ROWS_PER_PRODUCT):
        parts.append(((np.rint(columns[start : start + ROWS_PER_PRODUCT] / steps) @ whole) * small).astype(np.float32))
    return np.concatenate(parts)


def _steps(columns: Float32Array | Float64Array, bits: int) -> Float64Array:
    """Return for each column the power of two that makes its largest entry a whole number of so many bits."""
    largest = np.abs(columns).max(axis=0, initial=0.0).astype(np.float64)
    return np.where(largest > 0, np.exp2(np.ceil(np.log2(np.where(largest > 0, largest, 1.0))) - bits), 1.0)


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
    rows = row_numbers(matrix.indptr)
    order = np.lexsort((matrix.indices, -np.abs(matrix.data), rows))
    ranks = np.empty(matrix.nnz, dtype=np.int64)
    ranks[order] = np.arange(matrix.nnz) - matrix.indptr[rows]
    kept = ranks < most[rows]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=matrix.shape[0]))])
    return csr_array((matrix.data[kept], matrix.indices[kept], offsets), shape=matrix.shape).sorted_indices()


MAX_JACOBI_SWEEPS = 30
MAX_COSINE = 1e-9
"""A cosine that counts as a right angle: far below what float32 can tell."""


def pivoted_cholesky(matrix: Float64Array, *, noise: float) -> tuple[Float64Array, NDArray[np.int64]]:
    """Return R and the order of pivots, with ``R.T @ R`` the matrix and ``R[:, order]`` upper triangular.

    It stops at a pivot below `noise` times the first: what is left then is rounding.
    """
    rows, left = np.zeros_like(matrix), matrix.diagonal().copy()
    order: list[int] = []
    least = max(float(left.max(initial=0.0)), 1e-30) * noise
    while len(order) < len(matrix) and left.max() > least:
        count, at = len(order), int(np.argmax(left))
        row = (matrix[at] - (rows[:count, at, None] * rows[:count]).sum(axis=0)) / np.sqrt(left[at])
        row[order] = 0.0
        rows[count], left = row, left - row * row
        left[at] = -np.inf
        order.append(at)
    return rows[: len(order)], np.array(order, np.int64)


def inverse_of_triangle(upper: Float64Array) -> Float64Array:
    """Return the inverse of an upper triangular matrix."""
    inverse = np.zeros_like(upper)
    for row in range(len(upper) - 1, -1, -1):
        known = (upper[row, row + 1 :, None] * inverse[row + 1 :]).sum(axis=0)
        inverse[row] = -known / upper[row, row]
        inverse[row, row] += 1 / upper[row, row]
    return inverse


def eigen(matrix: Float64Array, *, noise: float) -> tuple[Float64Array, Float64Array]:
    """Return the eigenvalues of a positive semidefinite matrix, largest first, and their vectors as columns.

    Jacobi's rotations of the rows of its Cholesky factor (Veselić and Hari, 1989): once the rows stand at right angles,
    their directions are the eigenvectors and their squared lengths the eigenvalues. Values below `noise` times the
    largest are left out.
    """
    rows = _at_right_angles(pivoted_cholesky(matrix, noise=noise)[0])
    values = np.einsum("ij,ij->i", rows, rows)
    kept = np.argsort(-values, kind="stable")
    kept = kept[values[kept] > max(float(values.max(initial=0.0)), 1e-30) * noise]
    return values[kept], np.ascontiguousarray((rows[kept] / np.sqrt(values[kept])[:, None]).T)


def _at_right_angles(rows: Float64Array) -> Float64Array:
    """Rotate pairs of rows, all pairs once a sweep as in a round-robin tournament, until none lean on each other."""
    half = -(-len(rows) // 2)
    both = np.zeros((2 * half, rows.shape[1]))
    both[: len(rows)] = rows
    for _ in range(MAX_JACOBI_SWEEPS):
        steepest = 0.0
        for _ in range(max(1, 2 * half - 1)):
            upper, lower, lean = _rotated(both[:half], both[half:])
            steepest = max(steepest, lean)
            parts = (upper[:1], lower[:1], upper[1:-1], lower[1:], upper[-1:]) if half > 1 else (upper, lower)
            both = np.concatenate(parts)
        if steepest <= MAX_COSINE:
            break
    return both


def _rotated(upper: Float64Array, lower: Float64Array) -> tuple[Float64Array, Float64Array, float]:
    """Turn each pair of rows within its plane to a right angle; also return the largest cosine there was."""
    one, two, both = (np.einsum("ij,ij->i", a, b) for a, b in ((upper, upper), (lower, lower), (upper, lower)))
    lean = np.abs(both) > MAX_COSINE * np.sqrt(one * two)
    ratio = (two - one) / np.where(lean, 2 * both, 1.0)
    tangent = np.where(lean, np.where(ratio < 0, -1.0, 1.0) / (np.abs(ratio) + np.sqrt(1 + ratio * ratio)), 0.0)
    cosine = (1 / np.sqrt(1 + tangent * tangent))[:, None]
    sine = tangent[:, None] * cosine
    lengths = np.sqrt(one * two)
    steepest = float((np.abs(both) / np.where(lengths > 0, lengths, 1.0)).max(initial=0.0))
    return cosine * upper - sine * lower, sine * upper + cosine * lower, steepest


OVERSAMPLED_DIMENSIONS = 16
"""Directions beyond those asked for: they take up the error of the last ones (Halko et al., 2011)."""
MIN_EIGENVALUE_RATIO = 1e-6
"""An eigenvalue below this share of the largest is rounding, in float32."""
ENTRIES_PER_PRODUCT = 1 << 20
"""Entries of a sparse matrix that are multiplied at once."""


def right_singular_vectors(rows: csr_array, count: int, *, rounds: int, seed: int) -> Float32Array:
    """Return at most `count` columns, strongest first; each column's largest entry is positive.

    Halko, Martinsson and Tropp's randomized range finder with `rounds` power iterations, on the shorter side of the
    matrix: a catalog has far fewer texts than n-grams. No step lets BLAS or LAPACK choose an order of additions, so
    the same rows give the same bits with any number of threads.
    """
    turned = rows.shape[0] > rows.shape[1]
    matrix = rows.T.tocsr() if turned else rows
    transposed = matrix.T.tocsr()
    width = min(count + OVERSAMPLED_DIMENSIONS, matrix.shape[0])
    short = generator(seed).standard_normal((matrix.shape[0], width), dtype=np.float32)
    for _ in range(rounds):
        short = _orthonormal(_times(matrix, _times(transposed, short)))
    short = _orthonormal(short)  # once more: what follows takes right angles for granted
    long = _times(transposed, short)
    # Rayleigh-Ritz: within the basis, the singular vectors are eigenvectors of a small matrix.
    values, turns = eigen(gram(long), noise=MIN_EIGENVALUE_RATIO)
    values, turns = values[:count], turns[:, :count]
    found = rotated_by(short, turns) if turned else rotated_by(long, turns / np.sqrt(values))
    signs = np.sign(found[np.abs(found).argmax(axis=0), np.arange(found.shape[1])])
    return np.ascontiguousarray(found * np.where(signs == 0, 1, signs), np.float32)


def _times(matrix: csr_array, columns: Float32Array) -> Float32Array:
    """Return the product, made some rows at a time: SciPy would not hear Ctrl-C before the last one."""
    step = max(1, ENTRIES_PER_PRODUCT * matrix.shape[0] // max(1, matrix.nnz))
    product = np.empty((matrix.shape[0], columns.shape[1]), np.float32)
    for start in range(0, matrix.shape[0], step):
        product[start : start + step] = matrix[start : start + step] @ columns
    return product


def _orthonormal(columns: Float32Array) -> Float32Array:
    """Return a basis of what the columns span, by the Cholesky factor of their inner products."""
    factor, order = pivoted_cholesky(gram(columns), noise=MIN_EIGENVALUE_RATIO)
    return rotated_by(np.ascontiguousarray(columns[:, order]), inverse_of_triangle(factor[:, order]))
