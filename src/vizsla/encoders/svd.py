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
NOISE = 1e-5
"""A singular value below this share of the largest is rounding."""


def right_singular_vectors(rows: csr_array, count: int, *, rounds: int, seed: int) -> Floats:
    """Return at most `count` columns, strongest first; each column's largest entry is positive.

    Halko, Martinsson and Tropp's randomised range finder with `rounds` power iterations.
    """
    width = min(count + EXTRA, *rows.shape)
    basis = np.random.default_rng(seed).standard_normal((rows.shape[1], width), dtype=np.float32)
    transposed = rows.T.tocsr()
    for _ in range(rounds):
        basis = _orthonormal(transposed @ (rows @ _orthonormal(basis)))
    # Rayleigh-Ritz: within the basis, the singular vectors are eigenvectors of a small matrix.
    projected = np.asarray(rows @ basis, np.float64)
    values, vectors = np.linalg.eigh(projected.T @ projected)
    kept = np.flatnonzero(values > max(values[-1], 0.0) * NOISE**2)[::-1][:count]
    found = basis @ vectors[:, kept].astype(np.float32)
    signs = np.sign(found[np.abs(found).argmax(axis=0), np.arange(found.shape[1])])
    return np.ascontiguousarray(found * np.where(signs == 0, 1, signs), np.float32)


def _orthonormal(columns: Floats) -> Floats:
    return np.linalg.qr(columns)[0]
