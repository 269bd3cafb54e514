"""A trial: learn from a sample of the log without its held-out queries, and search for those."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vizsla.indexes.tree import NodeWeights, TreeIndex
from vizsla.methods.xrlinear.matchers import train_matchers
from vizsla.methods.xrlinear.representation import pifa
from vizsla.methods.xrlinear.tree import BRANCHING, MAX_LEAF, cluster_items

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.candidates import Candidates
    from vizsla.clicks.sample import ClickSample

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
    """Train as `train_xrlinear` does by default."""
    tree = cluster_items(pifa(features, costs), branching=BRANCHING, max_leaf=MAX_LEAF, threads=threads)
    layers = train_matchers(features, costs, tree, threads=threads)
    return TreeIndex.build(
        [layer.astype(np.int32) for layer in tree.layers], tree.items, [NodeWeights(*layer[:3]) for layer in layers],
        dim=features.shape[1],
    )  # fmt: skip
