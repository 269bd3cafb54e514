"""The steps of training against numpy twins."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from vizsla.core.sparse import SparseRows
from vizsla.errors import InputError
from vizsla.methods.xrlinear import cold_start as calibrating
from vizsla.methods.xrlinear.cold_start import ItemTexts, choose_leaves, with_cold_leaves
from vizsla.methods.xrlinear.matchers import explicit_negatives, matcher_aware, train_matchers
from vizsla.methods.xrlinear.tree import LabelTree, cluster_items, item_vectors, pifa


def random_sparse(pick, rows, columns, density=0.3):
    dense = pick.random((rows, columns)) * (pick.random((rows, columns)) < density)
    return csr_array(dense.astype(np.float32))


def unit(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def test_representations_are_what_the_paper_says():
    pick = np.random.default_rng(0)
    features, clicks, texts = random_sparse(pick, 30, 9), random_sparse(pick, 30, 12, 0.1), random_sparse(pick, 12, 9)
    learned, written = unit(clicks.toarray().T @ features.toarray()), unit(texts.toarray())
    expected = {
        "pifa": learned,
        "text": written,
        "concat": unit(np.hstack([0.7 * learned, 0.3 * written])),
        "blend": unit(0.7 * learned + 0.3 * written),
    }
    for how, vectors in expected.items():
        made = item_vectors(how, features, clicks, texts, share=0.7)
        assert made.toarray() == pytest.approx(vectors, abs=1e-6)
    assert np.array_equal(pifa(features, clicks).toarray(), item_vectors("pifa", features, clicks, None).toarray())


def test_matcher_aware_negatives_are_where_the_matchers_lead():
    pick = np.random.default_rng(1)
    features, clicks = SparseRows.of(random_sparse(pick, 40, 15)), SparseRows.of(random_sparse(pick, 40, 30, 0.05))
    tree = cluster_items(random_sparse(pick, 30, 15), branching=3, max_leaf=4)
    trained = train_matchers(features, clicks, tree, threshold=0.0)
    x = np.hstack([csr_array((features.values, features.columns, features.offsets)).toarray(), np.ones((40, 1))])
    scores = np.zeros((40, 1))
    for number in range(tree.depth - 1):
        layer = trained[number]
        w = csr_array((layer.values, layer.features, layer.offsets), shape=(tree.widths[number], 16)).toarray()
        scores = scores[:, tree.parents(number)] - np.maximum(0, 1 - x @ w.T) ** 3
        if number == 0:  # the beam of 2 drops the others' children
            scores[scores < np.sort(scores, axis=1)[:, -2:-1]] = -np.inf
    found = matcher_aware(features, tree, beam=2, bias=1.0, threads=1)(2, trained[:2])
    for row in range(40):
        asks = features.offsets[row + 1] > features.offsets[row]  # a query without features leads nowhere
        expected = np.argsort(-scores[row], kind="stable")[:2] if asks else []
        assert sorted(found.columns[found.offsets[row] : found.offsets[row + 1]]) == sorted(expected)


def test_given_negatives_reach_the_nodes_above_the_items():
    pick = np.random.default_rng(2)
    tree = LabelTree([[0, 2], [0, 2, 4], [0, 3, 6, 9, 12]], pick.permutation(12))
    shown, rows = random_sparse(pick, 10, 12, 0.2), np.array([1, 4, 7])
    for layer in (1, 2):
        reached = explicit_negatives(shown, tree, rows, 5)(layer, [])
        shape = (5, tree.widths[layer - 1])
        dense = csr_array((reached.values, reached.columns, reached.offsets), shape=shape).toarray()
        for instance, row in enumerate(rows):
            items = np.flatnonzero(shown.toarray()[row])
            assert set(np.flatnonzero(dense[instance])) == {tree.path(int(item))[layer - 1] for item in items}
        assert not dense[3:].any()


def test_neighbors_are_the_most_alike_and_never_oneself():
    pick = np.random.default_rng(3)
    vectors = random_sparse(pick, 25, 10)
    among, own = pick.random(25) < 0.7, np.array([2, 9, 11])
    for signs in (vectors, csr_array((vectors - vectors[::-1]).toarray().astype(np.float32))):  # sparse, then dense
        near = ItemTexts(signs).nearest(signs[own], 4, among=among, own=own).toarray()
        dots = (signs[own] @ signs.T).toarray().astype(np.float64)
        dots[:, ~among] = 0
        dots[np.arange(3), own] = 0
        for row, similarities in enumerate(dots):
            best = np.argsort(-similarities, kind="stable")[:4]
            best = best[similarities[best] > 0]
            assert set(np.flatnonzero(near[row])) >= set(best)
            assert len(np.flatnonzero(near[row])) <= 5 and near[row].sum() == pytest.approx(1)
            expected = similarities[best] / similarities[best].sum()
            assert near[row, best] / near[row, best].sum() == pytest.approx(expected)


def test_cold_items_move_to_their_neighbors_leaf():
    tree = LabelTree([[0, 3], [0, 2, 4, 6]], [0, 1, 2, 3, 4, 5])
    warm = np.array([True, False, True, True, False, True])
    near = csr_array(np.array([[0, 0, 0.6, 0, 0, 0.4], [0, 0, 0, 0, 0, 0]], np.float32))
    moved = with_cold_leaves(tree, warm, near)
    assert moved.leaf_of(1) == 1  # item 1: most of its neighbors' shares
    assert moved.leaf_of(4) == 0  # item 4 has no neighbor: the first of the emptiest
    assert [moved.leaf_of(item) for item in (0, 2, 3, 5)] == [0, 1, 1, 2]


def test_full_leaves_take_nobody():
    near = csr_array(np.array([[0.9, 0.1]], np.float32))
    assert choose_leaves(near, np.array([0, 1]), np.array([256, 255])).tolist() == [1]
    with pytest.raises(InputError, match="room for 0 more items. Got 1: train it again"):
        choose_leaves(near, np.array([0, 1]), np.array([256, 256]))


def test_calibration_minimizes_its_loss():
    pick = np.random.default_rng(4)
    labels = pick.random(400) < 0.2
    margins = np.column_stack([pick.normal(size=400) + labels, pick.normal(size=400) + 0.5 * labels, np.ones(400)])

    def loss(numbers):
        gaps = np.maximum(0, 1 - np.where(labels, 1, -1) * (margins @ numbers))
        return (np.where(labels, 1, calibrating.NEGATIVE_COST) * gaps**2).sum()

    best = np.array(calibrating._fit(margins, labels))
    assert (best[:2] >= 0).all()
    for _ in range(200):
        other = best + pick.normal(size=3) * 0.02
        other[:2] = np.maximum(other[:2], 0)
        assert loss(other) >= loss(best) - 1e-6


def test_a_query_that_wants_another_item_costs_fifteen_times_as_much():
    """Written out, so that the boldness of items without clicks cannot change unnoticed."""
    labels = np.array([True, False])
    margins = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    # Only the constant c matters: (1 - c)² + 15 (1 + c)² is least at c = -14/16.
    assert calibrating._fit(margins, labels)[2] == pytest.approx(-14 / 16, abs=1e-4)
