"""Ranking losses over the scores that a search ranks by, with their gradients in closed form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
PAIRS = 1 << 20
"""Pairs of a relevant item and another that are looked at together, or one query's: what bounds the memory."""


class LossAndGradients(NamedTuple):
    """A batch's mean loss, and what each score adds to it.

    Attributes
    ----------
    loss : float
        The mean over the batch's queries.
    relevant, others : float arrays, queries × relevant items and queries × other items
        The loss's derivative by each score.
    """

    loss: float
    relevant: Floats
    others: Floats


Loss = Callable[[Any, Any, Any], LossAndGradients]
"""From scores of relevant items, scores of others and the relevant items' weights."""


def ranknet(relevant: Any, others: Any, weights: Any) -> LossAndGradients:
    """Return the mean of ``log(1 + exp(s⁻ - s⁺))`` over all pairs (RankNet).

    Parameters
    ----------
    relevant : float array, queries × relevant items
        Their scores; a query with fewer is padded.
    others : float array, queries × other items
        The scores of items that are not relevant.
    weights : float array, queries × relevant items
        What each relevant item counts, at most 1 a query together; 0 for padding.

    Examples
    --------
    >>> found = ranknet([[1.0]], [[1.0, 1.0]], [[1.0]])
    >>> round(found.loss, 4), found.relevant.tolist(), found.others.tolist()
    (0.6931, [[-0.5]], [[0.25, 0.25]])
    """
    margins = _margins(relevant, others)
    each = _each_pair(weights, margins)
    return _summed(each * _softplus(-margins), each * _sigmoid(-margins))


def lambdarank(relevant: Any, others: Any, weights: Any) -> LossAndGradients:
    """Return RankNet's loss with each pair weighed by the nDCG that swapping the two would cost (LambdaRank).

    A relevant item's rank is one more than the irrelevant ones above it; ranks count as constants in the gradient.

    Examples
    --------
    >>> found = lambdarank([[1.0]], [[2.0, 0.0]], [[1.0]])  # at rank 2, below one of the others
    >>> found.others.round(3).tolist()
    [[0.27, 0.035]]
    """
    margins = _margins(relevant, others)
    each = np.asarray(weights, np.float64)[:, :, None] * swap_costs(margins)
    return _summed(each * _softplus(-margins), each * _sigmoid(-margins))


def hinge(relevant: Any, others: Any, weights: Any) -> LossAndGradients:
    """Return the mean of ``max(0, 1 - (s⁺ - s⁻))`` over all pairs.

    Examples
    --------
    >>> found = hinge([[1.0]], [[0.5, -1.0]], [[1.0]])
    >>> found.loss, found.others.tolist()
    (0.25, [[0.5, 0.0]])
    """
    margins = _margins(relevant, others)
    each = _each_pair(weights, margins)
    return _summed(each * np.maximum(0.0, 1.0 - margins), each * (margins < 1.0))


def softmax(relevant: Any, others: Any, weights: Any) -> LossAndGradients:
    """Return ``-log`` of the share that a relevant item has among itself and all others (listwise softmax).

    Examples
    --------
    >>> found = softmax([[0.0]], [[0.0]], [[1.0]])
    >>> round(found.loss, 4), found.relevant.tolist()
    (0.6931, [[-0.5]])
    """
    margins = _margins(relevant, others)
    weights = np.asarray(weights, np.float64)
    highest = np.maximum(0.0, (-margins).max(axis=2, initial=0.0))
    shares = np.exp(-margins - highest[:, :, None])
    total = np.exp(-highest) + shares.sum(axis=2)
    loss = float((weights * (np.log(total) + highest)).sum() / max(1, len(weights)))
    return _summed(np.zeros((len(weights), 1, 1)), (weights / total)[:, :, None] * shares)._replace(loss=loss)


def swap_costs(margins: Floats) -> Floats:
    """Return what swapping a relevant item with another would change of 1 / log2(1 + rank), pair by pair."""
    above = margins < 0
    ranks = 1 + above.sum(axis=2, keepdims=True)
    # The others may come in any order: a small margin is a high score. All relevant items see them in the same order.
    order = np.argsort(margins[:, :1], axis=2, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(margins.shape[2])[None, None], axis=2)
    # An item below the relevant one stands a rank lower than among the irrelevant alone.
    others = 1 + places + ~above
    costs: Floats = np.abs(1 / np.log2(1 + ranks) - 1 / np.log2(1 + others))
    return costs


LOSSES: dict[str, Loss] = {"lambdarank": lambdarank, "ranknet": ranknet, "hinge": hinge, "softmax": softmax}


def in_pieces(loss: Loss, relevant: Any, others: Any, weights: Any) -> LossAndGradients:
    """Return a loss, of some queries at a time where one of them has so many relevant items that all take much memory.

    Examples
    --------
    >>> in_pieces(softmax, [[0.0]], [[0.0]], [[1.0]]) == softmax([[0.0]], [[0.0]], [[1.0]])
    True
    """
    relevant, others, weights = (np.asarray(each, np.float64) for each in (relevant, others, weights))
    queries, size = len(weights), max(1, PAIRS // max(1, weights.shape[1] * others.shape[1]))
    if queries <= size:
        return loss(relevant, others, weights)
    total, pushed, pulled = 0.0, np.zeros_like(relevant), np.zeros_like(others)
    for piece in (slice(first, first + size) for first in range(0, queries, size)):
        width = 1 + int(np.flatnonzero(weights[piece].any(axis=0)).max(initial=0))
        found = loss(relevant[piece, :width], others[piece], weights[piece, :width])
        part = len(found.others) / queries
        total += part * found.loss
        pushed[piece, :width], pulled[piece] = part * found.relevant, part * found.others
    return LossAndGradients(total, pushed, pulled)


def _margins(relevant: Any, others: Any) -> Floats:
    return np.asarray(relevant, np.float64)[:, :, None] - np.asarray(others, np.float64)[:, None, :]


def _each_pair(weights: Any, margins: Floats) -> Floats:
    return np.asarray(np.asarray(weights, np.float64)[:, :, None] / max(1, margins.shape[2]))


def _summed(losses: Floats, alphas: Floats) -> LossAndGradients:
    """Add pairs up: every pair pushes its relevant item by -α and the other by α (Eq. 17 of the JPQ paper)."""
    queries = max(1, len(alphas))
    return LossAndGradients(float(losses.sum() / queries), -alphas.sum(axis=2) / queries, alphas.sum(axis=1) / queries)


def _softplus(values: Floats) -> Floats:
    return np.logaddexp(0.0, values)


def _sigmoid(values: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * values)))
