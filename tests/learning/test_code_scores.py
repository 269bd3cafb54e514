"""CodeScores: scores of its twin, gradients of finite differences, and searches that see every step."""

from __future__ import annotations

import numpy as np
import pytest

from tests.learning.score_twin import small_problem, twin_scores
from vizsla.errors import InputError
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.learning.code_scores import CodeScores
from vizsla.learning.losses import lambdarank
from vizsla.learning.negatives import mine_hard_negatives

STEP = 1e-5


def scores_of(rows, adapter, rotation, centroids, codes):
    turn = None if rotation is None else rotation.astype(np.float32)
    scores = CodeScores(codes, centroids.astype(np.float32), turn, dim=rows.shape[1])
    scores.adapter[...] = adapter
    return scores


@pytest.mark.parametrize("problem", [{}, {"rotated": False}, {"dim": 5}, {"dim": 5, "rotated": False}])
def test_scores_are_those_of_the_formula(problem):
    rows, adapter, rotation, centroids, codes = small_problem(**problem)
    scores = scores_of(rows, adapter, rotation, centroids, codes)
    items = np.random.default_rng(1).integers(0, len(codes), (len(rows), 7)).astype(np.int32)
    found = scores.of(scores.asked(rows.astype(np.float32)), items)
    np.testing.assert_allclose(found, twin_scores(rows, adapter, rotation, centroids, codes, items), atol=1e-5)


@pytest.mark.parametrize("problem", [{}, {"rotated": False}, {"dim": 5}])
def test_gradients_are_those_of_finite_differences_of_the_formula(problem):
    rows, adapter, rotation, centroids, codes = small_problem(**problem)
    items = np.random.default_rng(2).integers(0, len(codes), (len(rows), 8)).astype(np.int32)
    weights = np.full((len(rows), 2), 0.5)
    ranked = twin_scores(rows, adapter, rotation, centroids, codes, items)
    order = np.argsort(-ranked[:, 2:], axis=1)
    items[:, 2:] = np.take_along_axis(items[:, 2:], order, axis=1)

    def loss(adapter, centroids):
        found = twin_scores(rows, adapter, rotation, centroids, codes, items)
        return lambdarank(found[:, :2], found[:, 2:], weights)

    at = loss(adapter, centroids)
    scores = scores_of(rows, adapter, rotation, centroids, codes)
    asked = scores.asked(rows.astype(np.float32))
    by_centroid, by_adapter = scores.gradients(asked, items, np.concatenate([at.relevant, at.others], axis=1))
    for which, found in (("adapter", by_adapter), ("centroids", by_centroid)):
        start = {"adapter": adapter, "centroids": centroids}
        slopes = np.zeros(start[which].shape)
        for place in np.ndindex(slopes.shape):
            moved = [{**start, which: start[which].copy()} for _ in range(2)]
            moved[0][which][place] += STEP
            moved[1][which][place] -= STEP
            slopes[place] = (loss(**moved[0]).loss - loss(**moved[1]).loss) / (2 * STEP)
        np.testing.assert_allclose(found, slopes, atol=2e-5)


def test_a_centroid_that_no_listed_item_has_learns_nothing():
    rows, adapter, rotation, centroids, codes = small_problem()
    scores = scores_of(rows, adapter, rotation, centroids, codes)
    items = np.zeros((len(rows), 1), np.int32)
    by_centroid, _ = scores.gradients(scores.asked(rows.astype(np.float32)), items, np.ones((len(rows), 1)))
    used = np.zeros(centroids.shape[:2], bool)
    used[np.arange(len(centroids)), codes[0]] = True
    assert not by_centroid[~used].any() and by_centroid[used].any()


@pytest.mark.parametrize("block", [7, 1 << 23])
def test_live_search_is_the_sorted_formula_without_what_is_left_out(monkeypatch, block):
    monkeypatch.setattr("vizsla.learning.negatives.NUMBERS_PER_BLOCK", block)
    rows, adapter, rotation, centroids, codes = small_problem(items=40)
    scores = scores_of(rows, adapter, rotation, centroids, codes)
    but = np.array([[3, -1], [0, 39], [5, 6], [-1, -1], [7, 7]], np.int32)
    found = mine_hard_negatives(scores, scores.asked(rows.astype(np.float32)), 9, but=but)
    everything = np.tile(np.arange(40), (5, 1))
    wanted = twin_scores(rows, adapter, rotation, centroids, codes, everything)
    for query in range(5):
        allowed = [item for item in np.argsort(-wanted[query], kind="stable") if item not in but[query]][:9]
        np.testing.assert_allclose(wanted[query, found[query]], wanted[query, allowed], atol=1e-5)
        assert not set(found[query].tolist()) & set(but[query].tolist())


def test_live_search_follows_the_centroids_at_once():
    codes = np.array([[0], [1]], np.uint8)
    scores = CodeScores(codes, np.array([[[1.0], [2.0]]], np.float32), None, dim=1)
    nothing, row = np.array([[-1]], np.int32), np.ones((1, 1), np.float32)
    assert mine_hard_negatives(scores, scores.asked(row), 1, but=nothing).tolist() == [[1]]
    scores.centroids[0, 0] = 3
    assert mine_hard_negatives(scores, scores.asked(row), 1, but=nothing).tolist() == [[0]]


def test_codes_without_a_centroid_are_refused():
    with pytest.raises(InputError, match="below 2"):
        CodeScores(np.array([[2]], np.uint8), np.zeros((1, 2, 1), np.float32), None, dim=1)
    with pytest.raises(InputError, match="column for each"):
        CodeScores(np.array([[1, 1]], np.uint8), np.zeros((1, 2, 1), np.float32), None, dim=1)


@pytest.mark.parametrize("bits", [8, 4])
def test_the_native_scan_and_the_product_find_the_same(monkeypatch, bits):
    pick = np.random.default_rng(3)
    index = PqIndex.build(pick.standard_normal((500, 32)).astype(np.float32), bytes=2, bits=bits, rounds=2)
    scores = CodeScores.of_index(index)
    scores.adapter += 0.1 * pick.standard_normal((32, 32)).astype(np.float32)
    asked = scores.asked(pick.standard_normal((6, 32)).astype(np.float32))
    but = mine_hard_negatives(scores, asked, 3, but=np.full((6, 1), -1, np.int32))
    scanned = scores.of(asked, mine_hard_negatives(scores, asked, 20, but=but))
    monkeypatch.setattr("vizsla.learning.negatives.DIMENSIONS_PER_SCANNED_CODE", 1000)
    multiplied = scores.of(asked, mine_hard_negatives(scores, asked, 20, but=but))
    np.testing.assert_allclose(scanned, multiplied, atol=1e-5)


def test_row_gradients_are_those_of_finite_differences():
    rows, adapter, rotation, centroids, codes = small_problem()
    scores = scores_of(rows, adapter, rotation, centroids, codes)
    items = np.random.default_rng(5).integers(0, len(codes), (len(rows), 4)).astype(np.int32)
    by_score = np.random.default_rng(6).standard_normal(items.shape)
    asked = scores.asked(rows.astype(np.float32))
    by_centroid, found = scores.row_gradients(asked, items, by_score)
    assert np.array_equal(by_centroid, scores.gradients(asked, items, by_score)[0])
    for place in np.ndindex(rows.shape):
        moved = rows.copy()
        moved[place] += 1  # scores are linear in a row
        change = twin_scores(moved, adapter, rotation, centroids, codes, items)
        change -= twin_scores(rows, adapter, rotation, centroids, codes, items)
        assert found[place] == pytest.approx((by_score * change).sum(), abs=1e-4)
