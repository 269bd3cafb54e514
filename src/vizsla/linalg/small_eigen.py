"""Small symmetric matrices, taken apart without LAPACK: the same bits with any number of threads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
SWEEPS = 30
NEAR = 1e-9
"""A cosine that counts as a right angle: far below what float32 can tell."""


def pivoted_cholesky(matrix: Doubles, *, noise: float) -> tuple[Doubles, NDArray[np.int64]]:
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


def inverse_of_triangle(upper: Doubles) -> Doubles:
    """Return the inverse of an upper triangular matrix."""
    inverse = np.zeros_like(upper)
    for row in range(len(upper) - 1, -1, -1):
        known = (upper[row, row + 1 :, None] * inverse[row + 1 :]).sum(axis=0)
        inverse[row] = -known / upper[row, row]
        inverse[row, row] += 1 / upper[row, row]
    return inverse


def eigen(matrix: Doubles, *, noise: float) -> tuple[Doubles, Doubles]:
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


def _at_right_angles(rows: Doubles) -> Doubles:
    """Rotate pairs of rows, all pairs once a sweep as in a round-robin tournament, until none lean on each other."""
    half = -(-len(rows) // 2)
    both = np.zeros((2 * half, rows.shape[1]))
    both[: len(rows)] = rows
    for _ in range(SWEEPS):
        steepest = 0.0
        for _ in range(max(1, 2 * half - 1)):
            upper, lower, lean = _rotated(both[:half], both[half:])
            steepest = max(steepest, lean)
            parts = (upper[:1], lower[:1], upper[1:-1], lower[1:], upper[-1:]) if half > 1 else (upper, lower)
            both = np.concatenate(parts)
        if steepest <= NEAR:
            break
    return both


def _rotated(upper: Doubles, lower: Doubles) -> tuple[Doubles, Doubles, float]:
    """Turn each pair of rows within its plane to a right angle; also return the largest cosine there was."""
    one, two, both = (np.einsum("ij,ij->i", a, b) for a, b in ((upper, upper), (lower, lower), (upper, lower)))
    lean = np.abs(both) > NEAR * np.sqrt(one * two)
    ratio = (two - one) / np.where(lean, 2 * both, 1.0)
    tangent = np.where(lean, np.where(ratio < 0, -1.0, 1.0) / (np.abs(ratio) + np.sqrt(1 + ratio * ratio)), 0.0)
    cosine = (1 / np.sqrt(1 + tangent * tangent))[:, None]
    sine = tangent[:, None] * cosine
    lengths = np.sqrt(one * two)
    steepest = float((np.abs(both) / np.where(lengths > 0, lengths, 1.0)).max(initial=0.0))
    return cosine * upper - sine * lower, sine * upper + cosine * lower, steepest
