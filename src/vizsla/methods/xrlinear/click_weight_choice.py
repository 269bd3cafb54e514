"""Chooses on held-out clicks whether a click costs what it weighs, a damped weight, or as much as any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vizsla.clicks.evidence import surely_best
from vizsla.clicks.measures import ndcgs
from vizsla.clicks.sample import draw_sample
from vizsla.methods.xrlinear.click_costs import COSTS, all_alike
from vizsla.methods.xrlinear.trial import DEPTH, search_held_out
from vizsla.progress import progress

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.methods.xrlinear.instances import Instances

DAMPED = "damped"
"""What stands unless others are surely better: the heavier click counts more, and no click drowns the others."""

TRIED = (DAMPED, "none", "raw")
CLICK_WEIGHTS = ("auto", *COSTS)


def choose_click_weights(instances: Instances, features: csr_array, *, seed: int = 0, threads: int = 1) -> str:
    """Return how clicks should count: "damped", unless "none" or "raw" is surely better on held-out clicks.

    Better is a higher nDCG@10 with the clicks' weights as gains: where people chose several items for a query, the one
    that most of them chose should come first. A log that is too small to choose on keeps "damped".

    Parameters
    ----------
    instances : Instances
        What the model will learn from.
    features : csr_array
        Instances × features.
    seed : int
        Draws the items and the queries that are tried.
    threads : int
        How many to use; the choice does not depend on it.
    """
    if all_alike(instances.weights):
        return "none"
    sample = draw_sample(instances.clicks, instances.queries, seed=seed)
    if sample.too_small:
        return DAMPED
    rows, wanted = features[sample.rows], sample.clicks[sample.held]
    measured = [
        ndcgs(search_held_out(sample, rows, sample.of(instances.costs(how)), threads=threads), wanted, depth=DEPTH)
        for how in progress(TRIED, what="trying click weights")
    ]
    return TRIED[surely_best(np.stack(measured))]
