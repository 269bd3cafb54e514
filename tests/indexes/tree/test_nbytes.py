"""`nbytes` of a tree counts every byte that searching and scoring read, those that are made on the way too."""

from __future__ import annotations

import numpy as np
import pytest

from tests.indexes.tree.trees import DIM, make_matchers, make_queries, make_tree
from vizsla.core.candidates import Candidates
from vizsla.indexes.tree import WEIGHT_BYTES, TreeIndex


@pytest.mark.parametrize("weights", WEIGHT_BYTES)
def test_leaves_by_item_count_from_when_they_are_made(weights):
    pick = np.random.default_rng(0)
    layers, items = make_tree(pick, [5, 9, 30])
    matchers, queries = make_matchers(pick, layers), make_queries(pick, 20)
    index = TreeIndex.build(layers, items, matchers, dim=DIM, weights=weights)
    given = index.leaf_items.nbytes + sum(array.nbytes for layer in index.layers for array in layer)
    ways = 8 * len(items) + 4 * sum(int(offsets[-1]) for offsets in layers)
    index.search(queries, 10)
    assert index.nbytes == given + ways
    for _ in range(100):
        index.scores(queries, Candidates.from_rows([pick.choice(len(index), 3) for _ in range(20)]))
    read_behind = 64
    by_item = 16 * (len(items) + 1) + len(matchers[-1].values) * (4 + WEIGHT_BYTES[weights]) + read_behind
    assert index.nbytes == given + ways + by_item
    assert index.with_effort(3).nbytes == index.nbytes
