"""A beam is not cut before nothing better can come: wide beams, one part of them at a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.indexes.tree.trees import DIM, make_matchers, make_queries, make_tree, node_scores
from vizsla.indexes.tree import NodeWeights, TreeIndex


def twin_search(layers, items, scores, beam, k):
    """One query: the best `beam` nodes of each layer, and the best `k` items below the last of them."""
    followed, last = np.array([0]), len(layers) - 1
    for number, offsets in enumerate(layers):
        children = np.concatenate([np.arange(offsets[n], offsets[n + 1]) for n in followed])
        names = items[children] if number == last else children
        order = np.lexsort((names, -scores[number][children].astype(np.float32)))
        followed = children[order[: k if number == last else beam]]
    return items[followed]


@pytest.mark.parametrize("transform", ["l1-hinge", "l3-hinge", "sigmoid", "none"])
@pytest.mark.parametrize("k", [1, 3, 10, 40])
@pytest.mark.parametrize("beam", [1, 4, 7, 16, 50])
def test_every_followed_node_is_read_unless_it_cannot_matter(beam, k, transform):
    pick = np.random.default_rng(beam)
    layers, items = make_tree(pick, (12, 9, 14), least=10)
    matchers, queries = make_matchers(pick, layers), make_queries(pick, 40)
    index = TreeIndex.build(layers, items, matchers, dim=DIM, transform=transform, beam=beam)
    found, scores = index.search(queries, k), node_scores(layers, matchers, queries, transform)
    for query in range(40):
        twin = twin_search(layers, items, [layer[query] for layer in scores], beam, k)
        positions = index.positions[twin]
        assert found.row(query)[1] == pytest.approx(scores[-1][query, positions], rel=1e-5, abs=1e-5)


def test_the_best_item_may_hide_under_the_last_of_the_beam():
    """Parents come ever worse, and the items of each are better than those of all before."""
    parents, leaves = 40, 5
    layers = [np.array([0, parents], np.int32), np.arange(0, parents * leaves + 1, leaves, dtype=np.int32)]
    above = 0.99 - np.arange(parents) * 0.01  # a parent's score: -(1 - margin)³
    below = 0.5 + np.repeat(np.arange(parents) * 0.012, leaves)
    matchers = [
        NodeWeights(np.arange(len(m) + 1), np.zeros(len(m), np.int32), m.astype(np.float32)) for m in (above, below)
    ]
    items = np.arange(parents * leaves, dtype=np.int32)
    index = TreeIndex.build(layers, items, matchers, dim=DIM, bias=0.0, beam=parents)
    found = index.search(csr_array(np.eye(1, DIM, dtype=np.float32)), 5)
    truth = np.repeat(-((1 - above) ** 3), leaves) - (1 - below) ** 3
    assert found.items.tolist() == np.lexsort((items, -truth.astype(np.float32)))[:5].tolist()
    assert found.items[0] // leaves > 20  # which a beam of half the width would not find


def test_a_parent_as_good_as_the_last_place_is_still_read():
    """All scores are 0, the best there is: items of the last parents have the lowest numbers."""
    parents, leaves = 30, 6
    layers = [np.array([0, parents], np.int32), np.arange(0, parents * leaves + 1, leaves, dtype=np.int32)]
    items = np.arange(parents * leaves, dtype=np.int32)[::-1].copy()
    certain = [
        NodeWeights(np.arange(n + 1), np.zeros(n, np.int32), np.full(n, 2.0, np.float32))
        for n in (parents, parents * leaves)
    ]
    index = TreeIndex.build(layers, items, certain, dim=DIM, bias=0.0, beam=parents)
    found = index.search(csr_array(np.eye(1, DIM, dtype=np.float32)), 7)
    assert found.items.tolist() == list(range(7)) and not found.scores.any()
