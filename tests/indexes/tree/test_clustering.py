"""The tree that clustering builds: balanced, complete, repeatable, and good at finding what belongs together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vizsla import _native
from vizsla.errors import InputError
from vizsla.methods.xrlinear.tree import LabelTree, cluster_items, tree_shape


def topics(count, each, *, noise=0.3, width=40, seed=0):
    """Items around `count` random directions, shuffled; returns vectors and topics."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(count, width))
    topic = rng.permutation(np.repeat(np.arange(count), each))
    return (centers[topic] + noise * rng.normal(size=(count * each, width))).astype(np.float32), topic


def words(count, each, seed=0):
    """Sparse items that share words with their topic, and have some of everybody's."""
    rng = np.random.default_rng(seed)
    topic = rng.permutation(np.repeat(np.arange(count), each))
    rows = np.repeat(np.arange(count * each), 12)
    own = topic[rows] * 20 + rng.integers(20, size=len(rows))
    columns = np.where(rng.random(len(rows)) < 0.8, own, rng.integers(20 * count, size=len(rows)))
    return sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(count * each, 20 * count)), topic


def purity(tree, topic):
    """How many items are in a leaf whose most frequent topic is theirs."""
    leaves = [topic[tree.items_under(tree.depth - 1, leaf)] for leaf in range(len(tree.layers[-1]) - 1)]
    return sum(np.bincount(leaf).max() for leaf in leaves) / len(topic)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3000), st.integers(2, 40), st.integers(1, 60))
def test_shapes_keep_their_limits_and_are_balanced(items, branching, max_leaf):
    layers = tree_shape(items, branching=branching, max_leaf=max_leaf)
    tree = LabelTree(layers, np.arange(items))
    for number, layer in enumerate(layers):
        sizes = np.diff(layer)
        assert sizes.max() - sizes.min() <= 1
        assert sizes.max() <= (max_leaf if number == tree.depth - 1 else branching)
        assert sizes.min() >= 1


def test_small_catalogs_need_no_layers_between():
    assert [layer.tolist() for layer in tree_shape(7)] == [[0, 7]]


@pytest.mark.parametrize("sparse_input", [False, True])
def test_items_of_a_topic_end_up_together(sparse_input):
    vectors, topic = words(16, 60) if sparse_input else topics(16, 60)
    tree = cluster_items(vectors, branching=4, max_leaf=60)
    assert tree.widths == (4, 16, 960)
    assert purity(tree, topic) > 0.95


def test_sparse_and_dense_forms_of_the_same_vectors_agree():
    vectors, _ = topics(8, 10)
    dense, csr = (cluster_items(form, max_leaf=10, branching=4) for form in (vectors, sparse.csr_array(vectors)))
    together = np.equal.outer(np.repeat(np.arange(8), 10), np.repeat(np.arange(8), 10))
    for tree in (dense, csr):
        assert tree.widths == (3, 8, 80)
    agree = together[np.ix_(dense.places, dense.places)] == together[np.ix_(csr.places, csr.places)]
    assert agree.mean() > 0.98  # sums are rounded in another order


@pytest.mark.parametrize("sample", [10**6, 50])
def test_threads_change_nothing_and_the_seed_repeats(sample):
    vectors, _ = words(40, 150)
    first = cluster_items(vectors, seed=5, sample=sample, threads=1)
    for threads in (2, 3):
        np.testing.assert_array_equal(first.items, cluster_items(vectors, seed=5, sample=sample, threads=threads).items)
    assert not np.array_equal(first.items, cluster_items(vectors, seed=6, sample=sample).items)


def test_a_sample_is_enough_for_large_nodes():
    vectors, topic = words(16, 60)
    assert purity(cluster_items(vectors, branching=16, max_leaf=60, sample=200), topic) > 0.8


def test_length_does_not_matter():
    vectors, _ = topics(6, 9)
    scaled = vectors * np.float32(2.0) ** np.arange(-10, 44)[:, None]
    np.testing.assert_array_equal(cluster_items(vectors, max_leaf=9).items, cluster_items(scaled, max_leaf=9).items)


def test_items_without_a_vector_are_spread_evenly():
    vectors, topic = words(10, 20)
    empty = np.arange(0, 200, 4)
    mask = np.ones(200, np.float32)
    mask[empty] = 0
    tree = cluster_items(sparse.csr_array(sparse.diags_array(mask) @ vectors), max_leaf=20, branching=10)
    counts = [np.isin(tree.items_under(1, leaf), empty).sum() for leaf in range(10)]
    assert counts == [5] * 10
    assert purity(tree, np.where(mask > 0, topic, 10)) > 0.6


def test_nothing_but_empty_vectors_still_makes_a_tree():
    assert len(cluster_items(np.zeros((300, 4), np.float32), max_leaf=10)) == 300
    assert len(cluster_items(sparse.csr_array((300, 4), dtype=np.float32), max_leaf=10)) == 300


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 200), st.integers(2, 9), st.integers(1, 20), st.integers(0, 99))
def test_every_item_is_placed_once_for_any_size(items, branching, max_leaf, seed):
    vectors = sparse.random_array((items, 15), density=0.1, rng=np.random.default_rng(seed), dtype=np.float32)
    tree = cluster_items(sparse.csr_array(vectors), branching=branching, max_leaf=max_leaf, seed=seed)
    assert sorted(tree.items.tolist()) == list(range(items))


def test_equal_vectors_are_cut_by_item_number():
    tree = cluster_items(np.ones((40, 3), np.float32), max_leaf=10, branching=4)
    assert sorted(tree.items.tolist()) == list(range(40))


@pytest.mark.parametrize("layers", [[], [[0, 3]], [[0, 2]], [[0, 1], [0, 3]], [[0, 2], [0, 3]], [[0, 2], [0, 5, 4]],
                                    [[1, 4]], [[0, -1]], [[0, 2], [0, 1, 2**40]], [[]]])  # fmt: skip
def test_hostile_shapes_are_refused(layers):
    arrays = [np.array(layer, np.int64) for layer in layers]
    with pytest.raises(ValueError):
        _native.cluster_dense(np.ones((4, 2), np.float32), arrays, 5, 2, 100, 0, 1)


@pytest.mark.parametrize("offsets, columns, values, width", [
    ([0, 1], [5], [1.0], 3), ([0, 1], [-1], [1.0], 3), ([0, 2], [1], [1.0], 3), ([0, 1], [1], [], 3),
    ([0, 1], [1], [float("nan")], 3), ([0, 2], [1, 1], [1.0, 1.0], 3), ([], [], [], 3), ([1, 1], [0], [1.0], 3),
])  # fmt: skip
def test_hostile_vectors_are_refused(offsets, columns, values, width):
    arrays = np.array(offsets, np.int64), np.array(columns, np.int32), np.array(values, np.float32)
    with pytest.raises(ValueError):
        _native.cluster_sparse(*arrays, width, [np.array([0, 1])], 5, 2, 100, 0, 1)


@pytest.mark.parametrize("option", ["max_leaf", "branching", "iterations", "starts", "sample", "threads"])
def test_options_out_of_range_are_input_errors(option):
    for value in (0, -3, 1.5):
        with pytest.raises(InputError, match=option):
            cluster_items(np.ones((4, 2), np.float32), **{option: value})


def test_vectors_must_be_finite():
    with pytest.raises(InputError, match="finite"):
        cluster_items(np.array([[np.inf]], np.float32))
