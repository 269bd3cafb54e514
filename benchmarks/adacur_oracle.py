"""Upper bounds of appendix C.2: the anchor items are chosen with knowledge of the query's exact scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vizsla.methods.cur.choose import best_places, choose
from vizsla.methods.cur.factors import Factors
from vizsla.methods.cur.span import Span

Matrix = NDArray[np.float32]


def oracle_recall(
    anchors: Matrix, exact: Matrix, *, budget: int, k: int, how: str, epsilon: float, masked: int, seed: int = 0
) -> float:
    """Return Top-k-Recall when half of the budget goes to anchor items by the exact scores, the best `masked` left out.

    The other half is the best of the rest by estimate. With `masked` = k the anchor items give nothing away.
    """
    factors, found = Factors.of(anchors), []
    for row, scores in enumerate(exact):
        free = np.ones(len(scores), np.bool_)
        free[best_places(scores, masked)] = False
        random = np.random.default_rng([seed, row])
        chosen = choose(scores, free, budget // 2, how, epsilon, random)
        span = Span(factors.dim)
        span.add(factors.columns(chosen), scores[chosen])
        estimates = factors.products(span.weights()[None].astype(np.float32))[0]
        estimates[chosen] = -np.inf
        bought = np.concatenate([chosen, best_places(estimates, budget - len(chosen))])
        found.append(np.isin(best_places(scores, k), bought).mean())
    return float(np.mean(found))
