"""The layout that search reads: crowded buckets, rows of any length, and the best among scores in awkward orders."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from vizsla.indexes.tree import NodeWeights, TreeIndex, layer_matchers

MARK = np.uint32(1 << 31)


def one_layer(dense, **options):
    """A tree of a root whose children are the items, without a bias."""
    nodes = csr_array(dense.astype(np.float32))
    matchers = NodeWeights(nodes.indptr.astype(np.int64), nodes.indices.astype(np.int32), nodes.data)
    items = dense.shape[0]
    offsets, leaves = np.array([0, items], np.int32), np.arange(items, dtype=np.int32)
    return TreeIndex.build([offsets], leaves, [matchers], dim=dense.shape[1], bias=0.0, transform="none", **options)


@pytest.mark.parametrize(("density", "seed"), [(0.002, 0), (0.05, 1)])
def test_rows_that_leave_a_crowded_bucket_are_found(density, seed):
    """Thousands of rows over some hundred buckets: some buckets overflow into the next, the last one into the first."""
    pick, dim = np.random.default_rng(seed), 9000
    dense = np.where(pick.random((20, dim)) < density, pick.normal(size=(20, dim)), 0)
    index = one_layer(dense)
    marks = index.layers[0].buckets.reshape(-1, 16)[:, 7] & MARK
    assert np.count_nonzero(marks) > 10 and marks[-1]
    assert np.array_equal(as_dense(layer_matchers(index, 0), dim), dense.astype(np.float32))
    queries = csr_array(np.eye(dim, dtype=np.float32)[pick.permutation(dim)[:3000]])
    found = index.with_effort(1).search(queries, 20).to_csr(items=20).toarray()
    assert np.array_equal(found, (queries @ dense.T).astype(np.float32))


def as_dense(nodes, dim):
    return csr_array((nodes.values, nodes.features, nodes.offsets), shape=(len(nodes.offsets) - 1, dim)).toarray()


@pytest.mark.parametrize("weights", ["float32", "int16", "int8"])
def test_rows_of_every_length_add_only_what_is_theirs(weights):
    """Feature f has f + 1 entries, with and without others after it in memory; whole numbers are stored exactly."""
    children = 12
    dense = np.zeros((children, children))
    for feature in range(children):
        dense[children - 1 - feature :, feature] = np.arange(1, feature + 2) * (-1) ** feature
    dense[-1, -1] = 127 if weights == "int8" else dense[-1, -1]  # a factor of 1
    for features in (dense, dense[:, ::-1].copy()):
        index = one_layer(features, weights=weights)
        found = index.with_effort(1).search(csr_array(np.eye(children, dtype=np.float32)), children)
        assert np.array_equal(found.to_csr(items=children).toarray(), features.T)


ORDERS = {
    "rising": lambda count: np.arange(count),
    "falling": lambda count: np.arange(count)[::-1],
    "up and down": lambda count: np.minimum(np.arange(count), np.arange(count)[::-1]),
    "down and up": lambda count: np.maximum(np.arange(count), np.arange(count)[::-1]),
    "all alike": lambda count: np.zeros(count),
    "one apart": lambda count: (np.arange(count) == count // 2).astype(float),
    "a saw": lambda count: np.arange(count) % 7,
    "random": lambda count: np.random.default_rng(count).permutation(count),
}


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("k", [1, 2, 10, 25, 100, 129, 255, 256])
def test_the_best_are_chosen_whatever_their_order(order, k):
    """Eight leaves of 256 items; equal scores go by item number."""
    items = 2048
    scores = ORDERS[order](items).astype(np.float32)
    layers = [np.array([0, 8], np.int32), (np.arange(9) * 256).astype(np.int32)]
    top = NodeWeights(np.zeros(9, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
    kept = np.flatnonzero(scores)
    offsets = np.concatenate([[0], np.cumsum(scores != 0)]).astype(np.int64)
    last = NodeWeights(offsets, np.zeros(len(kept), np.int32), scores[kept])
    leaves = np.arange(items, dtype=np.int32)
    index = TreeIndex.build(layers, leaves, [top, last], dim=1, bias=0.0, transform="none")
    found = index.with_effort(8).search(csr_array(np.ones((1, 1), np.float32)), k)
    best = np.lexsort((np.arange(items), -scores))[:k]
    assert found.items.tolist() == best.tolist() and np.array_equal(found.scores, scores[best])
