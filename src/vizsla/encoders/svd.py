"""The leading right singular vectors of a sparse matrix, by random projection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float32]
EXTRA = 16
"""Directions beyond those asked for: they take up the error of the last ones (Halko et al., 2011)."""
NOISE = 1e-6
"""An eigenvalue below this share of the largest is rounding, in float32."""
BLOCK = 1 << 12
"""Rows whose products are added up in float32 before float64 takes over."""


def right_singular_vectors(rows: csr_array, count: int, *, rounds: int, seed: int) -> Floats:
    """Return at most `count` columns, strongest first; each column's largest entry is positive.

    Halko, Martinsson and Tropp's randomised range finder with `rounds` power iterations, on the shorter side of the
    matrix: a catalogue has far fewer texts than n-grams.
    """
    turned = rows.shape[0] > rows.shape[1]
    matrix = rows.T.tocsr() if turned else rows
    transposed = matrix.T.tocsr()
    width = min(count + EXTRA, matrix.shape[0])
    short = np.random.default_rng(seed).standard_normal((matrix.shape[0], width), dtype=np.float32)
    for _ in range(rounds):
        short = _orthonormal(matrix @ (transposed @ short))
    long = np.asarray(transposed @ short, np.float32)
    # Rayleigh-Ritz: within the basis, the singular vectors are eigenvectors of a small matrix.
    values, turns = _strongest(long, count)
    found = short @ turns if turned else long @ (turns / np.sqrt(values)).astype(np.float32)
    signs = np.sign(found[np.abs(found).argmax(axis=0), np.arange(found.shape[1])])
    return np.ascontiguousarray(found * np.where(signs == 0, 1, signs), np.float32)


def _orthonormal(columns: Floats) -> Floats:
    # By the small Gram matrix: Householder's method takes many times as long on tall columns.
    values, turns = _strongest(columns, columns.shape[1])
    return np.asarray(columns @ (turns / np.sqrt(values)), np.float32)


def _strongest(columns: Floats, count: int) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues of the Gram matrix and their vectors, without those that are rounding."""
    gram = np.zeros((columns.shape[1], columns.shape[1]), np.float64)
    for start in range(0, len(columns), BLOCK):
        block = columns[start : start + BLOCK]
        gram += block.T @ block
    values, turns = np.linalg.eigh(gram)
    kept = np.flatnonzero(values > max(values[-1], 1e-30) * NOISE)[::-1][:count]
    return values[kept].astype(np.float32), turns[:, kept].astype(np.float32)
