"""LabelTree: a user's own tree is checked whole, and can be read."""

import numpy as np
import pytest

from vizsla.errors import InputError
from vizsla.methods.xrlinear.tree import LabelTree, tree_shape

#        root
#    0    1      2
#  d a  (none)  b c e
OWN = LabelTree([[0, 3], [0, 2, 2, 5]], [3, 0, 1, 2, 4])


def test_a_tree_can_be_read():
    assert OWN.depth == 2 and OWN.widths == (3, 5) and len(OWN) == 5
    assert OWN.path(0) == (0, 1) and OWN.path(4) == (2, 4)
    assert [OWN.leaf_of(item) for item in range(5)] == [0, 2, 2, 0, 2]
    assert OWN.neighbors(1).tolist() == [1, 2, 4]
    assert OWN.items_under(0, 0).tolist() == [3, 0, 1, 2, 4]
    assert OWN.items_under(1, 1).tolist() == []
    assert OWN.parents(0).tolist() == [0, 0, 0] and OWN.parents(1).tolist() == [0, 0, 2, 2, 2]
    assert OWN.items[OWN.places].tolist() == [0, 1, 2, 3, 4]


def test_paths_agree_with_parents():
    tree = LabelTree(tree_shape(500, branching=5, max_leaf=7), np.random.default_rng(0).permutation(500))
    for item in range(0, 500, 37):
        path = tree.path(item)
        assert tree.items[path[-1]] == item and path[-2] == tree.leaf_of(item)
        for layer in range(1, tree.depth):
            assert tree.parents(layer)[path[layer]] == path[layer - 1]
            assert item in tree.items_under(layer, path[layer - 1])


@pytest.mark.parametrize(
    ("layers", "items"),
    [
        ([], [0]), ([[0, 2]], [0, 0]), ([[0, 2]], [0, 2]), ([[0, 2]], [-1, 0]), ([[0, 2]], [0, 1, 2]),
        ([[1, 2]], [0, 1]), ([[0, 2], [0, 1]], [0]), ([[0, 2], [0, 3, 2]], [0, 1]), ([[0, 2], [0, 1, 2, 3]], [0, 1, 2]),
        ([[0, 2]], [0.0, 1.0]), ([[[0, 2]]], [0, 1]), ([[]], [0]),
    ],
)  # fmt: skip
def test_a_tree_that_is_none_is_refused(layers, items):
    with pytest.raises(InputError):
        LabelTree(layers, items)


@pytest.mark.parametrize("item", [-1, 5])
def test_unknown_items_are_refused(item):
    with pytest.raises(InputError, match="between 0 and 4"):
        OWN.path(item)
