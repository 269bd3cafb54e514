"""Listwise distillation: a student's shares over a list of items follow a teacher's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def distillation(student: Any, teacher: Any, listed: Any) -> tuple[float, Floats]:
    """Return the mean Kullback-Leibler divergence of softmax shares, and its derivative by the student's scores.

    Parameters
    ----------
    student, teacher : float arrays, queries × items
        Scores, on the scale whose softmax is taken.
    listed : bool array, queries × items
        Which entries count; the others are padding.

    Examples
    --------
    >>> loss, gradient = distillation([[0.0, 0.0, 9.0]], [[1.0, 1.0, 0.0]], [[True, True, False]])
    >>> loss, gradient.tolist()
    (0.0, [[0.0, 0.0, 0.0]])
    """
    inside = np.asarray(listed, np.bool_)
    wanted, given = log_shares(teacher, inside), log_shares(student, inside)
    shares = np.where(inside, np.exp(np.where(inside, wanted, 0.0)), 0.0)
    gaps = np.where(inside, wanted - given, 0.0)
    queries = max(1, len(inside))
    gradient = np.where(inside, np.exp(np.where(inside, given, 0.0)) - shares, 0.0) / queries
    return float((shares * gaps).sum() / queries), gradient


def log_shares(scores: Any, inside: NDArray[np.bool_]) -> Floats:
    """Return the logarithm of each entry's share; numbers without meaning where nothing is listed."""
    values = np.asarray(scores, np.float64)
    values = values - np.where(inside, values, -np.inf).max(axis=1, keepdims=True, initial=-1e300)
    total = np.where(inside, np.exp(np.minimum(values, 0.0)), 0.0).sum(axis=1, keepdims=True)
    return np.asarray(values - np.log(np.maximum(total, 1e-300)))
