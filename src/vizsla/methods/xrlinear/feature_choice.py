"""Chooses how much words, pairs of words and character trigrams weigh in a model's features, on held-out clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.hold_out import warm_rows
from vizsla.indexes.tree import NodeWeights, TreeIndex
from vizsla.methods.xrlinear.csr import as_csr, as_scipy
from vizsla.methods.xrlinear.instances import Instances
from vizsla.methods.xrlinear.matchers import train_matchers
from vizsla.methods.xrlinear.representation import pifa
from vizsla.methods.xrlinear.tree import BRANCHING, MAX_LEAF, cluster_items
from vizsla.progress import progress
from vizsla.text.ngrams import EQUAL, NgramTfidf

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SHARES = (EQUAL, (1.0, 0.5, 0.0))
"""What is tried. Trigrams help where words are misspelt, inflected or rare, and drown the words where they are not.

R@10 of both on a tenth of the train clicks held out: tldr .589 and .575; debian-deps .628 and .623; squad-sent .754 and
.776; a log of made-up words .871 and .921. Something between them, (1, 0.5, 0.35), was the best of none.
"""

ROWS = 10_000
"""Instances to try on: a second or two, and enough to see a difference that matters."""

HELD = 0.2
FEWEST = 100
"""The share of the queries that is held out, and how many are too few to learn anything from."""

SURE = 3.0
"""So many standard errors must others be better than equal shares.

Two were not enough: on tldr's queries alone a gain of .010 on the trial was a loss of .004 on other held-out clicks.
"""

DEPTH = 10


def fit_features(instances: Instances, *, seed: int = 0, threads: int = 1) -> NgramTfidf:
    """Fit n-gram features, with the shares of the kinds that find most of some held-out queries' items.

    Items are drawn until their instances are `ROWS`; a fifth of their queries is held out, and a model learns from the
    rest once for each of `SHARES`, with the options that training has by default. Equal shares stay unless others are
    surely better.

    Parameters
    ----------
    instances : Instances
        What the model will learn from.
    seed : int
        Draws the items and the queries.
    threads : int
        How many to use; the choice does not depend on it.

    Examples
    --------
    >>> from vizsla.dataset import Dataset
    >>> from vizsla.methods.xrlinear.instances import training_instances
    >>> log = Dataset.of({"f": "a fig", "p": "a pear"}, clicks=[("red", "f"), ("green", "p")])
    >>> fit_features(training_instances(log)).shares
    (1.0, 1.0, 1.0)
    """
    equal = default_encoder(instances.texts)
    trial = _draw(instances, np.random.default_rng(seed))
    if len(trial.held) < FEWEST:
        return equal
    tried = [equal.with_shares(shares) for shares in SHARES]
    recalls = [_recalls(trial, encoder, threads) for encoder in progress(tried, what="trying features")]
    return tried[surely_best(np.stack(recalls))]


def default_encoder(texts: list[str]) -> NgramTfidf:
    """Fit the n-gram features that serve most click logs best: every kind weighs the same.

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


def surely_best(recalls: NDArray[np.float64]) -> int:
    """Return the row with the highest mean among those surely better than row 0, or 0.

    Parameters
    ----------
    recalls : float array
        Rows × queries.

    Examples
    --------
    >>> surely_best(np.array([[0, 0, 0, 1], [1, 1, 1, 1.0], [0, 0, 1, 1]]))
    1
    """
    gains = recalls - recalls[0]
    errors = gains.std(axis=1) / np.sqrt(max(gains.shape[1], 1))
    means = gains.mean(axis=1)
    return int(np.argmax(np.where(means > SURE * errors, means, 0.0)))


class Trial(NamedTuple):
    """Texts to learn from, and queries to learn for."""

    texts: list[str]
    clicks: csr_array
    held: NDArray[np.int64]


def _draw(instances: Instances, pick: np.random.Generator) -> Trial:
    """Draw items and hold out some of their queries."""
    sizes = np.bincount(instances.clicks.indices, minlength=instances.clicks.shape[1])
    order = pick.permutation(np.flatnonzero(sizes))
    items = np.sort(order[: max(1, np.searchsorted(np.cumsum(sizes[order]), ROWS, side="right"))])
    clicks = instances.clicks.tocsc()[:, items].tocsr()
    rows = np.flatnonzero(np.diff(clicks.indptr))
    queries = int(np.searchsorted(rows, instances.queries))
    clicks = clicks[rows]
    held = warm_rows(clicks, round(HELD * queries), pick.permutation(queries))
    return Trial([instances.texts[row] for row in rows.tolist()], clicks, held)


def _recalls(trial: Trial, encoder: NgramTfidf, threads: int) -> NDArray[np.float64]:
    """Learn from the rest, and return how much is found for each query that was held out."""
    features = as_scipy(encoder.queries(trial.texts, threads=threads))
    taught = np.ones(len(trial.texts), dtype=np.bool_)
    taught[trial.held] = False
    index = _learn(features[taught], trial.clicks[taught], threads)
    found = index.search(features[trial.held], DEPTH)
    wanted = trial.clicks[trial.held].astype(bool)
    queries = np.repeat(np.arange(len(trial.held)), np.diff(found.offsets))
    hits = np.asarray(wanted[queries, found.items]).ravel()
    return np.bincount(queries, hits, minlength=len(trial.held)) / np.diff(wanted.indptr)


def _learn(features: csr_array, clicks: csr_array, threads: int) -> TreeIndex:
    """Train as `train_xrlinear` does by default."""
    tree = cluster_items(pifa(features, clicks), branching=BRANCHING, max_leaf=MAX_LEAF, threads=threads)
    layers = train_matchers(as_csr(features, "features"), as_csr(clicks, "clicks"), tree, threads=threads)
    return TreeIndex.build(
        [layer.astype(np.int32) for layer in tree.layers], tree.items, [NodeWeights(*layer[:3]) for layer in layers],
        dim=features.shape[1],
    )  # fmt: skip
