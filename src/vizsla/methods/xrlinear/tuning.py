"""Choose settings of XR-Linear on held-out clicks: what a click costs, and the shares of kinds of n-grams."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vizsla._internal.terminal import progress
from vizsla.indexes.tree import NodeWeights, TreeIndex
from vizsla.learning.measures import ndcgs, recalls
from vizsla.learning.selection import Choice, choose, surely_better
from vizsla.learning.splits import draw_sample
from vizsla.methods.xrlinear.instances import COSTS, all_alike
from vizsla.methods.xrlinear.matchers import train_matchers
from vizsla.methods.xrlinear.tree import DEFAULT_BRANCHING, DEFAULT_MAX_LEAF, cluster_items, pifa
from vizsla.text.ngrams import EQUAL_SHARES, NgramTfidf

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.core.candidates import Candidates
    from vizsla.learning.splits import ClickSample
    from vizsla.methods.xrlinear.instances import Instances

MEASURED_DEPTH = 10


def search_held_out(sample: ClickSample, features: csr_array, costs: csr_array, *, threads: int = 1) -> Candidates:
    """Return the best ten items for each held-out query, of a model that learned from the others.

    Parameters
    ----------
    sample : ClickSample
        The training clicks and the held-out queries.
    features : csr_array
        The sample's rows × features.
    costs : csr_array
        The sample's rows × items: what each click costs.
    threads : int
        How many to use; the answer does not depend on it.
    """
    learned = sample.learned
    index = _learn(features[learned], costs[learned], threads)
    return index.search(features[sample.held], MEASURED_DEPTH)


def _learn(features: csr_array, costs: csr_array, threads: int) -> TreeIndex:
    """Train as `xrlinear` does by default."""
    tree = cluster_items(pifa(features, costs), branching=DEFAULT_BRANCHING, max_leaf=DEFAULT_MAX_LEAF, threads=threads)
    layers = train_matchers(features, costs, tree, threads=threads)
    return TreeIndex.build(
        [layer.astype(np.int32) for layer in tree.layers], tree.items, [NodeWeights(*layer[:3]) for layer in layers],
        dim=features.shape[1],
    )  # fmt: skip


DAMPED = "damped"
"""What stands unless others are surely better: the heavier click counts more, and no click drowns the others."""

TRIED_COSTS = (DAMPED, "none", "raw")
CLICK_WEIGHTS = ("auto", *COSTS)


def choose_click_weights(
    instances: Instances, features: csr_array, *, seed: int = 0, threads: int = 1
) -> tuple[str, Choice | None]:
    """Return how clicks should count: "damped", unless "none" or "raw" is surely better on held-out clicks; and why.

    Better is a higher nDCG@10 with the clicks' weights as gains: where people chose several items for a query, the one
    that most of them chose should come first. A log that is too small to choose on keeps "damped".

    Parameters
    ----------
    instances : Instances
        The training instances.
    features : csr_array
        Instances × features.
    seed : int
        Draws the items and the queries that are tried.
    threads : int
        Number of threads; the result does not depend on it.
    """
    if all_alike(instances.weights):
        return "none", None
    sample = draw_sample(instances.clicks, instances.queries, seed=seed)
    if sample.too_small:
        return DAMPED, None
    rows, wanted = features[sample.rows], sample.clicks[sample.held]
    measured = [
        ndcgs(
            search_held_out(sample, rows, sample.of(instances.costs(how)), threads=threads),
            wanted,
            depth=MEASURED_DEPTH,
        )
        for how in progress(TRIED_COSTS, what="trying click weights")
    ]
    trials = [{"click_weights": how} for how in TRIED_COSTS]
    choice = choose(trials, measured, measure="nDCG@10", rule=surely_better())
    return str(choice.chosen["click_weights"]), choice


TRIED_SHARES = (EQUAL_SHARES, (1.0, 0.5, 0.0))
"""What is tried. Trigrams help where words are misspelt, inflected or rare, and drown the words where they are not.

R@10 of both on a tenth of the train clicks held out: tldr .589 and .575; debian-deps .628 and .623; squad-sent .754 and
.776; a log of made-up words .871 and .921. Something between them, (1, 0.5, 0.35), was the best of none.
"""


def fit_features(
    instances: Instances, *, costs: str = DAMPED, seed: int = 0, threads: int = 1
) -> tuple[NgramTfidf, Choice | None]:
    """Fit n-gram features with the shares of kinds that are best on held-out queries; also return the selection.

    Items are drawn until their instances are 10,000; a fifth of their queries is held out, and a model learns from the
    rest once for each of `TRIED_SHARES`, with the options that training has by default. Equal shares stay unless others
    are surely better.

    Parameters
    ----------
    instances : Instances
        The training instances.
    costs : {"none", "damped", "raw"}
        The weighting of clicks; see `click_costs`.
    seed : int
        Draws the items and the queries.
    threads : int
        Number of threads; the result does not depend on it.

    Examples
    --------
    >>> from vizsla.data.dataset import Dataset
    >>> from vizsla.methods.xrlinear.instances import training_instances
    >>> log = Dataset.of({"f": "a fig", "p": "a pear"}, clicks=[("red", "f"), ("green", "p")])
    >>> fit_features(training_instances(log))[0].shares
    (1.0, 1.0, 1.0)
    """
    equal = default_encoder(instances.texts)
    sample = draw_sample(instances.clicks, instances.queries, seed=seed)
    if sample.too_small:
        return equal, None
    texts, drawn = [instances.texts[row] for row in sample.rows.tolist()], sample.of(instances.costs(costs))
    tried, measured = [equal.with_shares(shares) for shares in TRIED_SHARES], []
    for encoder in progress(tried, what="trying features"):
        found = search_held_out(sample, encoder.queries(texts, threads=threads).to_scipy(), drawn, threads=threads)
        measured.append(recalls(found, sample.clicks[sample.held]))
    trials = [{"kind_shares": list(shares)} for shares in TRIED_SHARES]
    choice = choose(trials, measured, measure="R@10", rule=surely_better())
    return tried[choice.best], choice


def default_encoder(texts: list[str]) -> NgramTfidf:
    """Fit the default n-gram features, with equal weights of the kinds.

    Measured on two click sets with item texts, R@10 at beam 10: idf and rows of length 1, .557 and .579; idf squared,
    .571 and .698; idf squared with every kind of n-gram weighing the same, .585 and .715.

    Parameters
    ----------
    texts : list of str
        The training texts.

    Examples
    --------
    >>> default_encoder(["a red fig", "a pear"]).dim
    21
    """
    return NgramTfidf.fit(texts, norm="kinds", idf_power=2.0)
