"""Small trees with random weights, and their scores in numpy."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from vizsla.indexes.tree import NodeWeights

DIM = 23


def make_tree(pick, fanouts, *, least=1):
    """Child offsets of each layer: every node gets `least` to `fanout` children."""
    layers, nodes = [], 1
    for fanout in fanouts:
        counts = pick.integers(min(least, fanout), fanout + 1, size=nodes)
        layers.append(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
        nodes = int(counts.sum())
    return layers, pick.permutation(nodes).astype(np.int32)


def make_matchers(pick, layers, density=0.3):
    matchers = []
    for offsets in layers:
        dense = pick.normal(size=(offsets[-1], DIM + 1)) * (pick.random((offsets[-1], DIM + 1)) < density)
        matrix = csr_array(dense.astype(np.float32))
        matchers.append(NodeWeights(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data))
    return matchers


def make_queries(pick, count):
    dense = pick.normal(size=(count, DIM)) * (pick.random((count, DIM)) < 0.4)
    dense[:, 0] += dense[:, 0] == 0  # no query without features
    return csr_array(dense.astype(np.float32))


def activation(margins, transform):
    if transform == "none":
        return margins
    if transform == "sigmoid":
        return -np.logaddexp(0, -margins)
    return -(np.maximum(0, 1 - margins) ** int(transform[1]))


def node_scores(layers, matchers, queries, transform="l3-hinge", bias=1.0):
    """A layer each: queries × nodes, the sum of log activations along the path to every node."""
    x = np.hstack([queries.toarray(), np.full((queries.shape[0], 1), bias)]).astype(np.float64)
    totals = [np.zeros((queries.shape[0], 1))]
    for offsets, nodes in zip(layers, matchers, strict=True):
        w = csr_array((nodes.values, nodes.features, nodes.offsets), shape=(offsets[-1], DIM + 1)).toarray()
        parents = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        totals.append(totals[-1][:, parents] + activation(x @ w.T, transform))
    return totals[1:]


def twin_scores(layers, items, matchers, queries, transform="l3-hinge", bias=1.0):
    """Queries × items: the sum of log activations along every path."""
    total = node_scores(layers, matchers, queries, transform, bias)[-1]
    scores = np.empty_like(total)
    scores[:, items] = total
    return scores
