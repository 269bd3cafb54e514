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
        free = np.ones(len(scores), np.bool_)
        free[best_places(scores, masked)] = False
        random = np.random.default_rng(row)
        chosen = choose(scores, free, budget // 2, how, epsilon, random)
        span = IncrementalLstsq(factors.dim)
        span.add(factors.columns(chosen), scores[chosen])
        left = np.ones((1, len(scores)), np.bool_)
        left[0, chosen] = False
        weights = span.weights()[None].astype(np.float32)
        bought = np.concatenate([chosen, factors.best(weights, left, budget - len(chosen))[0][0]])
        found.append([np.isin(best_places(scores, depth), bought).mean() for depth in depths])
    return np.mean(found, axis=0).tolist()
