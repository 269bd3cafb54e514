"""Ranking and contrastive losses, with their gradients in closed form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.typing import BoolArray, Float32Array, Float64Array

MAX_PAIRS_PER_CHUNK = 1 << 20
"""Pairs of a relevant item and another that are looked at together, or one query's: what bounds the memory."""


class LossAndGradients(NamedTuple):
    """A batch's mean loss, and its derivative by each score.

    Attributes
    ----------
    loss : float
        The mean over the batch's queries.
    relevant, others : float arrays, queries × relevant items and queries × other items
        The loss's derivative by each score.
    """

    loss: float
    relevant: Float64Array
    others: Float64Array


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
        Weight of each relevant item, at most 1 per query in total; 0 for padding.

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


def lambdarank_all(relevant: Any, others: Any, weights: Any) -> LossAndGradients:
    """Return LambdaRank's loss by |ΔnDCG|, with ranks among all listed items, other relevant ones included.

    Gains are 1 for every relevant item; the ideal ranking has all of them first. A pair counts its item's weight.

    Examples
    --------
    >>> found = lambdarank_all([[1.0, 3.0]], [[2.0]], [[1.0, 1.0]])  # ranks 3, 1 and 2; IDCG 1 + 1 / log2(3)
    >>> found.relevant.round(4).tolist()
    [[-0.0587, -0.0609]]
    """
    margins, counted = _margins(relevant, others), np.asarray(weights, np.float64) > 0
    listed = np.where(counted, np.asarray(relevant, np.float64), -np.inf)
    both = np.concatenate([listed, np.asarray(others, np.float64)], axis=1)
    order = np.argsort(-both, axis=1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(1, both.shape[1] + 1)[None], axis=1)
    gains, width = 1 / np.log2(1 + ranks), listed.shape[1]
    ideal = np.cumsum(1 / np.log2(2 + np.arange(width)))[np.maximum(counted.sum(axis=1), 1) - 1]
    costs = np.abs(gains[:, :width, None] - gains[:, None, width:]) / ideal[:, None, None]
    each = np.asarray(weights, np.float64)[:, :, None] * costs
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


def swap_costs(margins: Float64Array) -> Float64Array:
    """Return what swapping a relevant item with another would change of 1 / log2(1 + rank), pair by pair."""
    above = margins < 0
    ranks = 1 + above.sum(axis=2, keepdims=True)
    # The others may come in any order: a small margin is a high score. All relevant items see them in the same order.
    order = np.argsort(margins[:, :1], axis=2, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(margins.shape[2])[None, None], axis=2)
    # An item below the relevant one stands a rank lower than among the irrelevant alone.
    others = 1 + places + ~above
    costs: Float64Array = np.abs(1 / np.log2(1 + ranks) - 1 / np.log2(1 + others))
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
    queries, size = len(weights), max(1, MAX_PAIRS_PER_CHUNK // max(1, weights.shape[1] * others.shape[1]))
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


def _margins(relevant: Any, others: Any) -> Float64Array:
    return np.asarray(relevant, np.float64)[:, :, None] - np.asarray(others, np.float64)[:, None, :]


def _each_pair(weights: Any, margins: Float64Array) -> Float64Array:
    return np.asarray(np.asarray(weights, np.float64)[:, :, None] / max(1, margins.shape[2]))


def _summed(losses: Float64Array, alphas: Float64Array) -> LossAndGradients:
    """Add pairs up: every pair pushes its relevant item by -α and the other by α (Eq. 17 of the JPQ paper)."""
    queries = max(1, len(alphas))
    return LossAndGradients(float(losses.sum() / queries), -alphas.sum(axis=2) / queries, alphas.sum(axis=1) / queries)


def _softplus(values: Float64Array) -> Float64Array:
    return np.logaddexp(0.0, values)


def _sigmoid(values: Float64Array) -> Float64Array:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * values)))


class Contrast(NamedTuple):
    """A batch's loss, and its derivative by each score."""

    loss: float
    by_score: Float32Array


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


@dataclass(frozen=True)
class TokenSide:
    """Learned queries against passages as token sets: the scores of beta search.

    Parameters
    ----------
    queries : float32 array, queries × tokens
        Learned vectors.
    tokens : csr_array, passages × tokens
        1 where a passage holds a token; each query's own passage first.
    norms : float32 array
        Factor of each passage's score.
    excluded : bool array, queries × passages
        Pairs that count for nothing.
    """

    queries: Float32Array
    tokens: Any
    norms: Float32Array
    excluded: BoolArray

    def scores(self) -> Float32Array:
        """Return what beta search gives each pair."""
        return np.ascontiguousarray((self.tokens @ self.queries.T).T * self.norms)

    def by_query(self, by_score: Float32Array) -> Float32Array:
        """Return the derivative by the queries' vectors, given that by the scores."""
        return np.ascontiguousarray((self.tokens.T @ (by_score * self.norms).T).T)


@dataclass(frozen=True)
class VectorSide:
    """Queries against learned passages: the scores of full parametric search, or of alpha search for token sets.

    Parameters
    ----------
    queries, passages : float32 arrays, texts × tokens
        Vectors; each query's own passage first.
    excluded : bool array, queries × passages
        Pairs that count for nothing.
    """

    queries: Float32Array
    passages: Float32Array
    excluded: BoolArray


class Objective(NamedTuple):
    """The loss, and its derivatives by the vectors of both sides."""

    loss: float
    by_query: Float32Array
    by_passage: Float32Array


def parametric(side: VectorSide) -> Objective:
    """Return the loss of queries against learned passages (L_para of the paper, and a part of L_semi-para).

    Examples
    --------
    >>> one = np.ones((1, 1), np.float32)
    >>> side = VectorSide(one, np.ones((2, 1), np.float32), np.zeros((1, 2), bool))
    >>> found = parametric(side)
    >>> round(found.loss, 4), found.by_query.tolist(), found.by_passage.tolist()
    (0.6931, [[0.0]], [[-0.5], [0.5]])
    """
    found = contrastive(side.queries @ side.passages.T, side.excluded)
    return Objective(found.loss, found.by_score @ side.passages, found.by_score.T @ side.queries)


def beta(side: TokenSide, scores: Float32Array) -> Contrast:
    """Return the loss of learned queries against plain passages (beta search), by their scores."""
    return contrastive(scores, side.excluded)
