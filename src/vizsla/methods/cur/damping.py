"""How much of the anchors' scores is taken for noise: one rule, whatever a scorer's scale."""

from __future__ import annotations

import numpy as np

from vizsla.methods.cur.factors import Factors

SAMPLE = 10_000
"""Items that are looked at, evenly over the catalogue."""
LEAST = 1e-9
"""Of a column's squared length: less than this would drown in rounding, and counts as nothing."""


def damping(factors: Factors, ridge: float) -> float:
    """Return `ridge` times the mean square of a column around its mean, where a column is what anchors say of an item.

    So neither a scorer's unit nor a constant in all of its scores matters. 0 where all anchors say the same.

    Examples
    --------
    >>> damping(Factors.of(np.array([[10.0, 20.0], [12.0, 20.0]])), 0.5)
    0.5
    """
    if not ridge or not factors.count:
        return 0.0
    sample = np.unique(np.linspace(0, factors.count - 1, min(SAMPLE, factors.count)).astype(np.int64))
    columns = factors.columns(sample).astype(np.float64)
    lengths = float(np.mean(np.sum(columns**2, axis=1)))
    found = ridge * factors.dim * float(np.mean(columns.var(axis=1)))
    return found if found > LEAST * lengths else 0.0
