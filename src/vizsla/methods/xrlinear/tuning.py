"""Try settings of XR-Linear on held-out clicks, and choose what a click costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vizsla._internal.terminal import progress
from vizsla.indexes.tree import NodeWeights, TreeIndex
from vizsla.learning.measures import ndcgs
from vizsla.learning.selection import choose, surely_better
from vizsla.learning.splits import draw_sample
from vizsla.methods.xrlinear.instances import COSTS, all_alike
from vizsla.methods.xrlinear.matchers import train_matchers
from vizsla.methods.xrlinear.tree import BRANCHING, MAX_LEAF, cluster_items, pifa

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.core.candidates import Candidates
    from vizsla.learning.splits import ClickSample
    from vizsla.methods.xrlinear.instances import Instances

DEPTH = 10


def search_held_out(sample: ClickSample, features: csr_array, costs: csr_array, *, threads: int = 1) -> Candidates:
    """Return the best ten items for each held-out query, of a model that learned from the others.

    Parameters
    ----------
    sample : ClickSample
        What to learn from, and which queries are held out.
    features : csr_array
        The sample's rows × features.
    costs : csr_array
        The sample's rows × items: what each click costs.
    threads : int
        How many to use; the answer does not depend on it.
    """
    learned = sample.learned
    index = _learn(features[learned], costs[learned], threads)
    return index.search(features[sample.held], DEPTH)


def _learn(features: csr_array, costs: csr_array, threads: int) -> TreeIndex:
    """Train as `xrlinear` does by default."""
    tree = cluster_items(pifa(features, costs), branching=BRANCHING, max_leaf=MAX_LEAF, threads=threads)
    layers = train_matchers(features, costs, tree, threads=threads)
    return TreeIndex.build(
        [layer.astype(np.int32) for layer in tree.layers], tree.items, [NodeWeights(*layer[:3]) for layer in layers],
        dim=features.shape[1],
    )  # fmt: skip


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
    trials = [{"click_weights": how} for how in TRIED]
    choice = choose(trials, measured, measure="nDCG@10", rule=surely_better())
    return str(choice.chosen["click_weights"])
