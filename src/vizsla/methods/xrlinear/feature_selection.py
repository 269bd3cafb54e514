"""Chooses how much words, pairs of words and character trigrams weigh in a model's features, on held-out clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vizsla._internal.terminal import progress
from vizsla.learning.measures import recalls
from vizsla.learning.selection import choose, surely_better
from vizsla.learning.splits import draw_sample
from vizsla.methods.xrlinear.tuning import DAMPED, search_held_out
from vizsla.text.ngrams import EQUAL, NgramTfidf

if TYPE_CHECKING:
    from vizsla.methods.xrlinear.instances import Instances

SHARES = (EQUAL, (1.0, 0.5, 0.0))
"""What is tried. Trigrams help where words are misspelt, inflected or rare, and drown the words where they are not.

R@10 of both on a tenth of the train clicks held out: tldr .589 and .575; debian-deps .628 and .623; squad-sent .754 and
.776; a log of made-up words .871 and .921. Something between them, (1, 0.5, 0.35), was the best of none.
"""


def fit_features(instances: Instances, *, costs: str = DAMPED, seed: int = 0, threads: int = 1) -> NgramTfidf:
    """Fit n-gram features, with the shares of the kinds that find most of some held-out queries' items.

    Items are drawn until their instances are 10,000; a fifth of their queries is held out, and a model learns from the
    rest once for each of `SHARES`, with the options that training has by default. Equal shares stay unless others are
    surely better.

    Parameters
    ----------
    instances : Instances
        What the model will learn from.
    costs : {"none", "damped", "raw"}
        What a click costs; see `click_costs`.
    seed : int
        Draws the items and the queries.
    threads : int
        How many to use; the choice does not depend on it.

    Examples
    --------
    >>> from vizsla.data.dataset import Dataset
    >>> from vizsla.methods.xrlinear.instances import training_instances
    >>> log = Dataset.of({"f": "a fig", "p": "a pear"}, clicks=[("red", "f"), ("green", "p")])
    >>> fit_features(training_instances(log)).shares
    (1.0, 1.0, 1.0)
    """
    equal = default_encoder(instances.texts)
    sample = draw_sample(instances.clicks, instances.queries, seed=seed)
    if sample.too_small:
        return equal
    texts, drawn = [instances.texts[row] for row in sample.rows.tolist()], sample.of(instances.costs(costs))
    tried, measured = [equal.with_shares(shares) for shares in SHARES], []
    for encoder in progress(tried, what="trying features"):
        found = search_held_out(sample, encoder.queries(texts, threads=threads).to_scipy(), drawn, threads=threads)
        measured.append(recalls(found, sample.clicks[sample.held]))
    trials = [{"shares": shares} for shares in SHARES]
    return tried[choose(trials, measured, measure="R@10", rule=surely_better()).best]


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
