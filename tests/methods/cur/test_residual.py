"""Residual CUR: its regression is the normal equations', its prior the least-squares fit, its choice unseen."""

from __future__ import annotations

import numpy as np
import pytest

from tests.methods.cur.scorers import ANCHORS, ITEMS, QUERIES, full, scorer
from vizsla.data.dataset import Dataset
from vizsla.encoders.lsa import LsaEncoder
from vizsla.errors import InputError
from vizsla.methods.bm25 import bm25
from vizsla.methods.cur import AnchorScores, residual_cur
from vizsla.methods.cur.basis_selection import Tried, choose_fit
from vizsla.methods.cur.estimates import RidgeEstimates
from vizsla.methods.cur.factors import Factors
from vizsla.methods.cur.plan import Plan, best_places, choose
from vizsla.methods.cur.residual_model import (
    _left_out,
    combined,
    decomposed,
    favored,
    fit_weight_prior,
    leading,
    vectors_of,
    with_constant,
    with_ones,
)
from vizsla.methods.dense import dense
from vizsla.methods.pefa.build import pefa_max, pefa_xs
from vizsla.methods.tfidf import tfidf

PICK = np.random.default_rng(8)


def _world(queries: int = 60, items: int = 150, rank: int = 3):
    """Return scores that are a retriever's, rescaled, plus a residual of low rank and a little noise."""
    own = PICK.normal(size=(queries, 1, items)).astype(np.float32)
    low = PICK.normal(size=(queries, rank)) @ PICK.normal(size=(rank, items))
    scores = 2 + 3 * own[:, 0] + low + 0.05 * PICK.normal(size=(queries, items))
    return scores.astype(np.float32), own


def test_the_prior_is_the_affine_fit_and_the_factors_are_the_rest():
    scores, own = _world()
    fit = decomposed(scores, own, 3).fit(3, 0.1)
    x = np.stack([np.ones(own.size), own.ravel()], axis=1)
    assert np.allclose(fit.mean, np.linalg.lstsq(x, scores.ravel().astype(np.float64), rcond=None)[0], atol=1e-3)
    assert fit.explained[0] == pytest.approx(np.corrcoef(own.ravel(), scores.ravel())[0, 1] ** 2, abs=0.01)
    residual = scores - fit.mean[0] - fit.mean[1] * own[:, 0]
    _, s, vt = np.linalg.svd(residual, full_matrices=False)
    assert np.allclose(fit.factors.values.T @ fit.factors.values, (vt[:3].T * s[:3] ** 2) @ vt[:3], atol=0.1, rtol=1e-3)


def test_the_estimates_are_those_of_the_normal_equations():
    factors = Factors.of(PICK.normal(size=(4, 50)))
    own = PICK.normal(size=(2, 2, 50)).astype(np.float32)
    features = np.concatenate([np.ones((2, 1, 50)), own], axis=1)
    mean, penalty = np.array([0.5, -1.0, 2.0]), np.diag([1.0, 2, 3, 4, 5, 6, 7])
    penalty[0, 1] = penalty[1, 0] = 0.5
    start = PICK.normal(size=(2, 4)).astype(np.float32)
    estimates = RidgeEstimates(factors, own, mean, penalty, start)
    priors = np.einsum("f,qfi->qi", mean, features) + start @ factors.values
    assert np.allclose(estimates.scores(), priors, atol=1e-5) and np.allclose(estimates.prior(), priors, atol=1e-5)
    items, scores = np.array([3, 9, 30, 31, 40]), PICK.normal(size=5).astype(np.float32)
    nothing = (np.zeros(0, np.int64), np.zeros(0, np.float32))
    estimates.learn([nothing[0], items[:2]], [nothing[1], scores[:2]])
    estimates.learn([nothing[0], items[2:]], [nothing[1], scores[2:]])
    x = np.concatenate([factors.values, features[1]]).T
    prior = priors[1]
    weights = np.linalg.solve(x[items].T @ x[items] + penalty, x[items].T @ (scores - prior[items]))
    assert np.allclose(estimates.scores()[1], prior + x @ weights, atol=1e-4)
    assert np.allclose(estimates.scores()[0], priors[0], atol=1e-5)
    assert np.allclose(estimates.prior_of(1, items), prior[items], atol=1e-5)
    free = PICK.random((2, 50)) < 0.6
    for row, (found, values) in enumerate(estimates.best(free, 7)):
        everything = np.where(free[row], estimates.scores()[row], -np.inf)
        assert found.tolist() == best_places(everything, 7).tolist() and np.array_equal(values, everything[found])


def test_equations_that_settle_nothing_take_the_shortest_weights():
    factors = Factors.of(np.zeros((2, 9)))
    own = PICK.normal(size=(1, 1, 9)).astype(np.float32)
    estimates = RidgeEstimates(factors, own, np.zeros(2), np.zeros((4, 4)))
    estimates.learn([np.array([4])], [np.array([1.5], np.float32)])
    shortest = (1 + own[0, 0, 4] * own[0, 0]) / (1 + own[0, 0, 4] ** 2)
    assert np.allclose(estimates.scores()[0], 1.5 * shortest, atol=1e-4)


def test_rank_is_what_the_residual_has_and_is_chosen_without_calls():
    scores, own = _world(rank=2)
    chosen = choose_fit(scores, own, Plan(20, 5), Tried((1, 2, 16), (0.01, 1.0)))
    assert chosen.rank >= 2 and chosen.recall > 0.5


def test_a_rank_that_folds_are_too_small_for_stands_for_all_anchors():
    scores, own = _world(queries=40, rank=3)
    assert choose_fit(scores, own, Plan(20, 5), Tried((256,), (0.1,))).rank == 40
    assert choose_fit(scores, own, Plan(20, 5), Tried((8,), (0.1,))).rank == 8


@pytest.mark.parametrize(
    ("noisy", "basis"), [("scores", "residual"), ("retriever", "scores")], ids=["knows much", "knows little"]
)
def test_the_simpler_basis_is_chosen(noisy, basis):
    """A retriever that has all the noise of the scores leaves a simple residual; one that has its own does not."""
    pick = np.random.default_rng(3)
    simple = pick.normal(size=(80, 3)) @ pick.normal(size=(3, 200))
    noise = 2 * pick.normal(size=(80, 200))
    scores, told = (simple + noise, noise) if noisy == "scores" else (simple, simple + noise)
    scores, own = scores.astype(np.float32), told.astype(np.float32)[:, None]
    assert choose_fit(scores, own, Plan(20, 5), Tried((4,), (0.1,))).basis == basis


@pytest.mark.parametrize("basis", ["residual", "scores"])
def test_a_mixture_of_anchors_is_told_exactly_by_as_many_scores(basis):
    """Whatever the basis, all dimensions span what the anchors do, so a query that mixes them is settled."""
    pick = np.random.default_rng(4)
    scores = (5 + pick.normal(size=(6, 40))).astype(np.float32)
    query = (pick.dirichlet(np.ones(6)) @ scores).astype(np.float32)
    fit = decomposed(scores, np.zeros((6, 0, 40), np.float32), 7, basis).fit(7, 1e-9)
    estimates = fit.estimates(np.zeros((1, 0, 40), np.float32))
    estimates.learn([np.arange(12)], [query[:12]])
    assert np.allclose(estimates.scores()[0], query, atol=1e-3)


@pytest.mark.parametrize("basis", ["residual", "scores"])
def test_weights_times_factors_are_the_residual(basis):
    scores, own = _world(queries=30, rank=3)
    parts = decomposed(scores, own, 30, basis)
    told = combined(with_ones(own), parts.mean)
    held = decomposed(scores, own, 30).factors if basis == "residual" else parts.factors
    within = (scores - told) @ np.linalg.pinv(held.astype(np.float64)) @ held
    assert np.allclose(parts.weights @ parts.factors, within, atol=1e-3)


def test_alike_and_single_anchors_have_a_basis_of_scores_too():
    own = PICK.normal(size=(3, 1, 20)).astype(np.float32)
    for scores in (np.ones((3, 20), np.float32), np.tile(PICK.normal(size=20).astype(np.float32), (3, 1))):
        for anchors in (1, 3):
            fit = decomposed(scores[:anchors], own[:anchors], 4, "scores").fit(4, 0.1)
            assert np.isfinite(fit.estimates(own).scores()).all()


def test_a_useful_prior_and_anchors_beat_either_alone():
    scores, own = _world(queries=80, items=400, rank=3)
    fit = decomposed(scores[:60], own[:60], 3).fit(3, 0.01)
    asked, exact = own[60:], scores[60:]
    estimates = fit.estimates(asked)
    alone = estimates.scores().copy()
    estimates.learn([np.arange(12)] * 20, list(exact[:, :12]))
    assert np.mean((estimates.scores() - exact) ** 2) < 0.1 * np.mean((alone - exact) ** 2)


def test_leaving_one_query_out_in_closed_form_is_leaving_it_out():
    seen, weights = PICK.normal(size=(30, 5)), PICK.normal(size=(30, 2))
    given, ridge = with_constant(seen), 0.7
    values, vectors = np.linalg.eigh(given @ given.T)
    found = _left_out(weights, np.maximum(values, 0), vectors, ridge)
    for row in range(30):
        x, y = np.delete(given, row, axis=0), np.delete(weights, row, axis=0)
        told = np.linalg.solve(x.T @ x + ridge * np.eye(6), x.T @ y)
        assert np.allclose(found[row], weights[row] - given[row] @ told, atol=1e-8)


def test_retrievers_tell_weights_where_they_can_and_do_no_harm_where_not():
    factors = Factors.of(PICK.normal(size=(3, 300)))
    weights = PICK.normal(size=(80, 3))
    blind = PICK.normal(size=(80, 1, 300)).astype(np.float32)
    shown = (weights @ factors.values)[:, None].astype(np.float32) + blind
    for own, least, most in ((shown, 0.0, 0.4), (blind, 0.9, 1.2)):
        leaning = fit_weight_prior(weights[:60], favored(factors, own[:60]), np.ones(3))
        left = np.mean((weights[60:] - leaning.weights(factors, own[60:])) ** 2) / np.mean(weights[60:] ** 2)
        assert least <= left <= most
        believed = np.diag(np.linalg.inv(leaning.precision)).mean() / np.mean(weights[:60] ** 2)
        assert left / 3 <= believed <= 3 * left


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
def test_vectors_serve_without_anchors(storage):
    vectors = dense(ITEMS, LsaEncoder.fit(ITEMS.values(), dim=8))
    search = residual_cur(scorer(), priors=bm25(ITEMS), vectors=vectors, storage=storage)
    found = search.with_budget(30)(QUERIES, k=10)
    assert found.stats.model_calls == 150
    best = [best_places(row, 3) for row in full(QUERIES)]
    assert np.mean([np.isin(want, found.row(n)[0]).mean() for n, want in enumerate(best)]) > 0.8


def test_vectors_are_those_of_any_index_that_holds_some():
    log = Dataset.of(ITEMS, queries={"q": QUERIES[0]}, clicks=[("q", "item 3", 1.0)])
    vectors = dense(ITEMS, LsaEncoder.fit(ITEMS.values(), dim=8))
    best = pefa_max(vectors, log, weight=0.5, margin=0.1, item_weight=0.5)
    for retriever in (pefa_xs(vectors, log, weight=0.5, calibrated=False), best):
        ids, rows = vectors_of(retriever)
        assert list(ids) == list(ITEMS) and rows.shape[0] == 60
        moved = np.abs(rows[:, :8] - vectors.item_rows()).max(axis=1) > 1e-6
        assert moved.nonzero()[0].tolist() == [3]
    for retriever in (bm25(ITEMS), tfidf(ITEMS)):  # fewer items than dimensions: no inner product is lost
        rows, whole = vectors_of(retriever)[1], retriever.index.to_csr().toarray()
        assert np.allclose(rows @ rows.T, whole @ whole.T, atol=1e-4 * np.abs(whole @ whole.T).max())
    assert residual_cur(scorer(), vectors=tfidf(ITEMS), budget=7)(QUERIES[0]).stats.model_calls == 7
    assert vectors_of(bm25({"a": "", "b": ""}))[1].shape == (2, 1)
    for option in ({"rank": 4}, {"basis": "scores"}):
        with pytest.raises(InputError, match=f"`{next(iter(option))}` must be left out with `vectors`"):
            residual_cur(scorer(), vectors=vectors, **option)
    with pytest.raises(InputError, match="`vectors` must be Vectors, or a retriever over vectors or weighted terms"):
        vectors_of(bm25(ITEMS) | vectors)


@pytest.mark.parametrize("storage", ["float16", "int8"])
def test_small_factors_find_nearly_the_same(storage):
    anchors = AnchorScores.of(ITEMS, ANCHORS, full(ANCHORS))
    wide, small = (
        residual_cur(scorer(), anchors, bm25(ITEMS), budget=20, rank=4, ridge=0.1, storage=s)
        for s in ("float32", storage)
    )
    shared = [len(set(a) & set(b)) for a, b in zip(wide(QUERIES, k=20).ids, small(QUERIES, k=20).ids, strict=True)]
    assert min(shared) >= 16 and small.fit.factors.nbytes < wide.fit.factors.nbytes


def test_choices_follow_their_rule():
    estimates, free = PICK.normal(size=200).astype(np.float32), PICK.random(200) < 0.5
    assert (
        choose(estimates, free, 5, "topk", 0, PICK).tolist()
        == [n for n in np.argsort(-estimates, kind="stable") if free[n]][:5]
    )
    for how in ("topk", "softmax", "random"):
        chosen = choose(estimates, free, 20, how, 0.25, np.random.default_rng(1))
        assert len(set(chosen.tolist())) == 20 and free[chosen].all()
    peaked = np.where(np.arange(200) < 10, 50, 0).astype(np.float32)
    assert set(choose(peaked, np.ones(200, bool), 10, "softmax", 0, PICK)) == set(range(10))


def test_scores_too_large_to_be_multiplied_are_refused():
    with pytest.raises(InputError, match="products are finite"):
        leading(np.full((3, 4), 3e38, np.float32), 2)
