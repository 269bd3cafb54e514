"""A bag index in plain numpy: what the native one must answer, to the last bit."""

from __future__ import annotations

import numpy as np


def units(weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the weights as whole numbers of a power of two, 2^-23 of their sum rounded up; above 0 stays above 0."""
    total = float(weights.astype(np.float64).sum())
    exponent = max(int(np.floor(np.log2(total))) + 1 if total > 0 else 0, -80) - 23
    whole = np.rint(np.ldexp(weights.astype(np.float64), -exponent)).astype(np.int64)
    return np.where(weights > 0, np.maximum(whole, 1), 0), float(np.ldexp(1.0, exponent))


def scores(held: np.ndarray, norms: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Return every item's score for one query: held is items × tokens, true where an item holds a token."""
    whole, unit = units(query)
    sums = held.astype(np.int64) @ whole
    return (sums.astype(np.float32) * np.float32(unit)) * norms


def best(held: np.ndarray, norms: np.ndarray, query: np.ndarray, k: int, allowed=None) -> list[tuple[int, float]]:
    """Return the best items that share a token with the query, ties by number."""
    found, whole = scores(held, norms, query), held[:, query > 0].any(axis=1)
    if allowed is not None:
        whole = whole & allowed
    numbers = np.flatnonzero(whole)
    order = numbers[np.lexsort((numbers, -found[numbers]))][:k]
    return [(int(item), float(found[item])) for item in order]
