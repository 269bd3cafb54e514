"""Contrastive losses between queries and passages, in both directions, with their gradients in closed form."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


class Contrast(NamedTuple):
    """A batch's loss, and its derivative by each score."""

    loss: float
    by_score: Floats


def contrastive(scores: Any, excluded: Any) -> Contrast:
    """Return the mean loss of telling each query's passage from the others, and each passage's query.

    Parameters
    ----------
    scores : float array, queries × passages
        Query i's own passage is passage i; whatever comes after these is wrong for all.
    excluded : bool array, queries × passages
        Pairs that count for nothing, such as other passages that were clicked; never a query's own.

    Examples
    --------
    >>> found = contrastive([[0.0, 0.0]], [[False, False]])
    >>> round(found.loss, 4), found.by_score.tolist()
    (0.6931, [[-0.5, 0.5]])
    """
    counted = np.where(np.asarray(excluded, np.bool_), -np.inf, np.asarray(scores, np.float64))
    count = len(counted)
    forward, by_row = _cross_entropy(counted)
    backward, by_column = _cross_entropy(counted[:, :count].T)
    by_row[:, :count] += by_column.T
    return Contrast((forward + backward) / max(count, 1), (by_row / max(count, 1)).astype(np.float32))


def _cross_entropy(scores: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Return the summed loss of finding the diagonal in each row, and its derivative."""
    shares = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-1e300))
    shares /= shares.sum(axis=1, keepdims=True)
    own = np.arange(len(scores)), np.arange(len(scores))
    loss = -np.log(np.maximum(shares[own], 1e-300)).sum()
    shares[own] -= 1
    return float(loss), shares
