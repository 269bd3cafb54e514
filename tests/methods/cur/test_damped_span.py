"""The growing ridge regression is the one that solves all equations at once, and mends the square case."""

from __future__ import annotations

import numpy as np
import pytest

from tests.methods.cur.scorers import ANCHORS, ITEMS, QUERIES, full, scorer
from vizsla.artifacts.artifact import load
from vizsla.methods.bm25 import bm25
from vizsla.methods.cur import AnchorScores, adacur, anncur
from vizsla.methods.cur.estimates import CurEstimates
from vizsla.methods.cur.factors import Factors, noise_ridge
from vizsla.methods.cur.least_squares import IncrementalRidge
from vizsla.methods.cur.plan import Plan, best_places, spend

PICK = np.random.default_rng(11)


@pytest.mark.parametrize("rounds", [1, 3, 10])
@pytest.mark.parametrize("count", [10, 30, 80])
@pytest.mark.parametrize("ridge", [1e-3, 1.0, 100.0])
def test_is_the_ridge_regression_of_all_columns(rounds, count, ridge):
    columns, scores = PICK.normal(size=(count, 30)), PICK.normal(size=count)
    columns[count // 2 :: 7] = columns[0]  # repeated items do no harm
    span = IncrementalRidge(30, ridge)
    for part in np.array_split(np.arange(count), rounds):
        span.add(columns[part], scores[part])
        seen = slice(0, part[-1] + 1)
        gram = columns[seen].T @ columns[seen] + ridge * np.eye(30)
        expected = np.linalg.solve(gram, columns[seen].T @ scores[seen])
        assert np.allclose(span.weights(), expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


def test_a_tiny_ridge_is_the_pseudo_inverse():
    columns, scores = PICK.normal(size=(12, 30)), PICK.normal(size=12)
    span = IncrementalRidge(30, 1e-9)
    span.add(columns, scores)
    assert np.allclose(span.weights(), np.linalg.pinv(columns) @ scores, atol=1e-8)


def test_neither_a_unit_nor_a_constant_changes_what_is_noise():
    scores = PICK.normal(size=(20, 40))
    plain = noise_ridge(Factors.of(scores), 0.1)
    assert plain == pytest.approx(0.1 * 20 * scores.var(axis=0).mean(), rel=1e-5)
    assert noise_ridge(Factors.of(7 * scores), 0.1) == pytest.approx(49 * plain, rel=1e-5)
    assert noise_ridge(Factors.of(scores + 5), 0.1) == pytest.approx(plain, rel=1e-4)
    assert noise_ridge(Factors.of(np.ones((20, 40))), 0.1) == 0.0
    assert noise_ridge(Factors.of(scores[:, :0]), 0.1) == noise_ridge(Factors.of(scores), 0) == 0.0


def test_as_many_calls_as_anchor_queries_find_no_less_than_anncur():
    """The square case: with a noisy scorer the plain form loses to ANNCUR's splits there, the damped one does not."""
    weights, shapes = PICK.normal(size=(160, 12)), PICK.normal(size=(12, 2000))
    scores = (weights @ shapes + 1.5 * PICK.normal(size=(160, 2000))).astype(np.float32)
    factors, asked = Factors.of(scores[:60]), scores[60:]
    found = {ridge: _recall(factors, asked, Plan(60, 10), ridge) for ridge in (0.0, 0.1)}
    splits = [_recall(factors, asked, Plan(60, 2, first=first), 0.0) for first in (18, 30, 42)]
    assert found[0.0] < max(splits) < found[0.1]


def _recall(factors, asked, plan, ridge):
    estimates = CurEstimates(factors, len(asked), ridge=noise_ridge(factors, ridge))
    score = lambda chosen: [asked[row, items] for row, items in enumerate(chosen)]  # noqa: E731
    randoms = [np.random.default_rng(row) for row in range(len(asked))]
    firsts = [np.zeros(0, np.int64)] * len(asked)
    ledgers = spend(estimates, np.ones(asked.shape, np.bool_), firsts, plan, score, randoms)
    return np.mean(
        [np.isin(best_places(row, 50), own.all_items()).mean() for row, own in zip(asked, ledgers, strict=True)]
    )


@pytest.mark.parametrize("make", [adacur, anncur])
def test_the_ridge_is_saved_and_matters(tmp_path, make):
    search = make(bm25(ITEMS), AnchorScores.of(ITEMS, ANCHORS, full(ANCHORS)), budget=12, ridge=3.0)
    search.save(tmp_path / "search")
    again = load(tmp_path / "search")
    assert again.ridge == 3.0 and again(QUERIES) == search(QUERIES)
    plain = make(scorer(), AnchorScores.of(ITEMS, ANCHORS, full(ANCHORS)), budget=12, ridge=0)
    held = make(scorer(), AnchorScores.of(ITEMS, ANCHORS, full(ANCHORS)), budget=12, ridge=3.0)
    assert plain(QUERIES, k=12) != held(QUERIES, k=12)
