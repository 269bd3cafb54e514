"""Learning a token table against its twin: losses, weights and gains, on a log with several clicks per query."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.methods.tokens.step_twin import TableTwin
from vizsla import tokens
from vizsla.learning.clicks import ClickLog
from vizsla.methods.tokens.learner import LearningSettings, new_learner

ITEMS = {
    "a": "fig tree",
    "b": "fig bush green leaf",
    "c": "oak tree",
    "d": "elm",
    "e": "green car",
    "f": "red car fig",
    "g": "red bus",
}
LOG = {
    "fig": ["a", "b"],
    "tree green": ["c", "a", "b"],
    "sweet": ["a", "f"],
    "vehicle red": ["e", "g"],
    "acorn tree": ["c"],
}
B = 0.6


def problem(settings):
    """Return the library's learner, and the twin made from the texts alone."""
    base = tokens(ITEMS, b=B)
    clicked = ClickLog.of([(query, item) for query, items in LOG.items() for item in items], base.items)
    learner = new_learner(base.with_words(clicked.texts), clicked, clicked.clicks, settings)
    terms, names = list(learner.words.terms), list(ITEMS)
    bags = np.array([[term in text.split() for term in terms] for text in ITEMS.values()])
    asked = np.array([[term in text.split() for term in terms] for text in clicked.texts])
    clicks = {(clicked.texts.index(query), names.index(item)) for query, items in LOG.items() for item in items}
    lengths, counts = bags.sum(axis=1), bags.sum(axis=0)
    norms = (1 / (1.2 + 1 - B + B * lengths / lengths.mean())).astype(np.float32)
    idf = np.where(counts > 0, np.log(1 + (len(ITEMS) - counts + 0.5) / (counts + 0.5)), 0).astype(np.float32)
    twin = TableTwin(bags, asked, clicks, idf, allowed(bags, asked, clicks, idf, settings.expansions), norms, settings)
    pairs = list(zip(*(side.tolist() for side in learner._pairs()), strict=True))
    assert sorted(pairs) == sorted(clicks)
    return learner, twin, pairs


def allowed(bags, asked, clicks, idf, most):
    """For each token the others that it meets most in clicks, weighed by their idf; ties by number."""
    met = Counter()
    for query, item in clicks:
        for token in np.flatnonzero(asked[query]):
            met.update((int(token), int(other)) for other in np.flatnonzero(bags[item]) if other != token)
    strengths = {pair: count * idf[pair[1]] for pair, count in met.items()}
    return {
        pair
        for token in {first for first, _ in strengths}
        for pair in sorted((p for p in strengths if p[0] == token), key=lambda p: (-strengths[p], p[1]))[:most]
    }


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"temperature": 0.5},
        {"temperature": 3000.0},  # slopes so small that Adagrad's epsilon tells them from larger ones
        {"batch": 4, "negatives": 3},
        {"batch": 1, "rate": 2.0},
        {"expansions": 2, "batch": 3, "temperature": 2.0},
    ],
)
def test_epochs_are_the_twins(changes):
    settings = LearningSettings(**{"rate": 0.3, "batch": 100, "negatives": 20, **changes})
    learner, twin, pairs = problem(settings)
    one, other = np.random.default_rng(5), np.random.default_rng(5)
    for _ in range(3):
        assert learner.epoch(one) == pytest.approx(twin.epoch(pairs, other), rel=1e-4)
        table = learner.table
        tokens = np.repeat(np.arange(table.dim), np.diff(table.offsets))
        gains = dict(zip(zip(tokens.tolist(), table.targets.tolist(), strict=True), table.gains, strict=True))
        assert gains.keys() == twin.gains.keys()
        assert table.weights == pytest.approx(twin.weights, rel=1e-4, abs=1e-4)
        assert [gains[pair] for pair in twin.gains] == pytest.approx(list(twin.gains.values()), rel=1e-4, abs=1e-4)


def test_no_weight_falls_below_0():
    learner, twin, pairs = problem(LearningSettings(rate=3.0, batch=100))
    learner.epoch(np.random.default_rng(0))
    twin.epoch(pairs, np.random.default_rng(0))
    assert (twin.weights[twin.weight_memory > 0] == 0).any()
    assert learner.table.weights == pytest.approx(twin.weights, rel=1e-4, abs=1e-6)
