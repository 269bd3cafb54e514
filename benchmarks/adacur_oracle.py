"""Upper bounds of appendix C.2: the anchor items are chosen with knowledge of the query's exact scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vizsla.methods.cur.factors import Factors
from vizsla.methods.cur.least_squares import IncrementalLstsq
from vizsla.methods.cur.plan import best_places, choose

Matrix = NDArray[np.float32]


def oracle_recalls(
    anchors: Matrix, exact: Matrix, *, budget: int, depths: Sequence[int], how: str, epsilon: float, masked: int
) -> list[float]:
    """Return recall at each depth when half of the budget goes to anchor items by the exact scores.

    The best `masked` are left out of them, so that they give nothing away. The other half is the best by estimate.
    """
    factors, found = Factors.of(anchors), []
    for row, scores in enumerate(exact):
        _, bought = estimates(factors, scores, row, budget // 2, how=how, epsilon=epsilon, masked=masked, budget=budget)
        found.append([np.isin(best_places(scores, depth), bought).mean() for depth in depths])
    return np.mean(found, axis=0).tolist()


def estimates(
    factors: Factors,
    scores: NDArray[np.float32],
    row: int,
    anchor_items: int,
    *,
    how: str,
    epsilon: float,
    masked: int,
    budget: int | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return estimates of all items from a query's anchor items by an oracle, and what the whole budget buys.

    "random" takes anchor items at random, as ANNCUR does.
    """
    free = np.ones(len(scores), np.bool_)
    free[best_places(scores, masked)] = False
    chosen = choose(scores, free, anchor_items, how, epsilon, np.random.default_rng(row))
    span = IncrementalLstsq(factors.dim)
    span.add(factors.columns(chosen), scores[chosen])
    left = np.ones((1, len(scores)), np.bool_)
    left[0, chosen] = False
    weights = span.weights()[None].astype(np.float32)
    more = factors.best(weights, left, (budget or len(chosen)) - len(chosen))[0][0] if budget else chosen[:0]
    guessed = np.asarray(weights[0] @ factors.columns(np.arange(len(scores))).T, np.float32).reshape(-1)
    return guessed, np.concatenate([chosen, more])
