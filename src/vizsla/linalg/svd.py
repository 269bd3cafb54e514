"""The leading right singular vectors of a sparse matrix, by random projection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vizsla.arguments import generator
from vizsla.linalg.exact_products import gram
from vizsla.linalg.exact_products import turned as turned_by
from vizsla.linalg.small_eigen import eigen, inverse_of_triangle, pivoted_cholesky

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float32]
EXTRA = 16
"""Directions beyond those asked for: they take up the error of the last ones (Halko et al., 2011)."""
NOISE = 1e-6
"""An eigenvalue below this share of the largest is rounding, in float32."""
STEP = 1 << 20
"""Entries of a sparse matrix that are multiplied at once."""


def right_singular_vectors(rows: csr_array, count: int, *, rounds: int, seed: int) -> Floats:
    """Return at most `count` columns, strongest first; each column's largest entry is positive.

    Halko, Martinsson and Tropp's randomised range finder with `rounds` power iterations, on the shorter side of the
    matrix: a catalogue has far fewer texts than n-grams. No step lets BLAS or LAPACK choose an order of additions, so
    the same rows give the same bits with any number of threads.
    """
    turned = rows.shape[0] > rows.shape[1]
    matrix = rows.T.tocsr() if turned else rows
    transposed = matrix.T.tocsr()
    width = min(count + EXTRA, matrix.shape[0])
    short = generator(seed).standard_normal((matrix.shape[0], width), dtype=np.float32)
    for _ in range(rounds):
        short = _orthonormal(_times(matrix, _times(transposed, short)))
    short = _orthonormal(short)  # once more: what follows takes right angles for granted
    long = _times(transposed, short)
    # Rayleigh-Ritz: within the basis, the singular vectors are eigenvectors of a small matrix.
    values, turns = eigen(gram(long), noise=NOISE)
    values, turns = values[:count], turns[:, :count]
    found = turned_by(short, turns) if turned else turned_by(long, turns / np.sqrt(values))
    signs = np.sign(found[np.abs(found).argmax(axis=0), np.arange(found.shape[1])])
    return np.ascontiguousarray(found * np.where(signs == 0, 1, signs), np.float32)


def _times(matrix: csr_array, columns: Floats) -> Floats:
    """Return the product, made some rows at a time: SciPy would not hear Ctrl-C before the last one."""
    step = max(1, STEP * matrix.shape[0] // max(1, matrix.nnz))
    product = np.empty((matrix.shape[0], columns.shape[1]), np.float32)
    for start in range(0, matrix.shape[0], step):
        product[start : start + step] = matrix[start : start + step] @ columns
    return product


def _orthonormal(columns: Floats) -> Floats:
    """Return a basis of what the columns span, by the Cholesky factor of their inner products."""
    factor, order = pivoted_cholesky(gram(columns), noise=NOISE)
    return turned_by(np.ascontiguousarray(columns[:, order]), inverse_of_triangle(factor[:, order]))
