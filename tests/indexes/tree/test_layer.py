"""A layer: who is trained on what, what is kept, and that neither threads nor hostile arrays change or break it."""

import numpy as np
import pytest
from scipy import sparse

from tests.indexes.tree.reference import dense_weights
from vizsla import _native
from vizsla.core.sparse import SparseRows
from vizsla.errors import InputError
from vizsla.methods.xrlinear.layer import train_layer
from vizsla.methods.xrlinear.matchers import layer_labels, train_matchers, union
from vizsla.methods.xrlinear.tree import LabelTree, cluster_items


def log(seed=0, instances=120, features=60, items=40):
    """Clicks that follow from a word of the item's own, and noise."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((instances, features), density=0.08, rng=rng, dtype=np.float32).tolil()
    chosen = rng.integers(items, size=instances)
    X[np.arange(instances), chosen] = 1.0
    clicks = np.zeros((instances, items), np.float32)
    clicks[np.arange(instances), chosen] = 1.0
    return sparse.csr_array(X), sparse.csr_array(clicks)


@pytest.fixture(scope="module")
def trained():
    X, clicks = log()
    tree = cluster_items(sparse.csr_array(clicks.T @ X), branching=4, max_leaf=5)
    return X, clicks, tree, train_matchers(X, clicks, tree, threshold=0)


def equal(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def test_children_are_trained_on_the_instances_of_their_parent_only(trained):
    X, clicks, tree, layers = trained
    labels = layer_labels(SparseRows.of(clicks, name="clicks"), tree)
    shapes = [(X.shape[0], m.width) for m in labels]
    reached, positives = (
        sparse.csr_array((m.values, m.columns, m.offsets), s) for m, s in zip(labels[-2:], shapes[-2:], strict=True)
    )
    weights = dense_weights(layers[-1], X.shape[1])
    for parent in (0, 3):
        first, last = tree.layers[-1][parent : parent + 2]
        rows = np.flatnonzero(reached.toarray()[:, parent])
        alone = train_layer(
            X[rows], positives[rows][:, first:last], np.ones((len(rows), 1)), [0, last - first], threshold=0,
            tolerance=1e-5, epochs=2000,
        )  # fmt: skip
        np.testing.assert_allclose(dense_weights(alone, X.shape[1]), weights[first:last], atol=0.15)
        untouched = np.flatnonzero(X[rows].sum(axis=0) == 0)
        assert len(untouched) and not weights[first:last][:, untouched].any()


def test_a_node_is_positive_when_an_item_below_it_is(trained):
    _, clicks, tree, _ = trained
    dense = clicks.toarray()
    for number, layer in enumerate(layer_labels(SparseRows.of(clicks * 3, name="clicks"), tree)):
        for node in range(layer.width):
            below = tree.items_under(number, node) if number < tree.depth else tree.items[[node]]
            rows = layer.row_numbers()[layer.columns == node]
            np.testing.assert_array_equal(np.bincount(rows, minlength=len(dense)), dense[:, below].max(axis=1))
        assert set(layer.values) == {3.0}


def test_further_negatives_reach_the_children_of_the_named_nodes(trained):
    X, clicks, tree, layers = trained
    everywhere = train_matchers(
        X, clicks, tree, threshold=0, negatives=lambda layer, _: np.ones((X.shape[0], len(tree.layers[layer]) - 1))
    )
    assert equal(everywhere[0], layers[0])
    assert len(everywhere[-1].values) > len(layers[-1].values)
    with pytest.raises(InputError, match="shape"):
        train_matchers(X, clicks, tree, negatives=lambda *_: np.ones((2, 2)))


def test_union_is_a_set_union():
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 9, 7)) < 0.3
    joined = union(SparseRows.of(a, name="a"), SparseRows.of(b, name="b"))
    dense = sparse.csr_array((joined.values, joined.columns, joined.offsets), (9, 7)).toarray()
    np.testing.assert_array_equal(dense, (a | b).astype(float))


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
def test_threads_change_nothing(loss):
    X, clicks = log(1, instances=400, features=250, items=200)
    tree = cluster_items(sparse.csr_array(clicks.T @ X), branching=8, max_leaf=20)
    one, two, five = (train_matchers(X, clicks, tree, loss=loss, threads=n, threshold=0) for n in (1, 2, 5))
    assert all(equal(a, b) and equal(a, c) for a, b, c in zip(one, two, five, strict=True))


def test_the_seed_changes_the_path_and_repeats_it():
    X, clicks = log(2)
    arguments = (X, clicks, np.ones((X.shape[0], 1)), [0, 40])
    assert equal(train_layer(*arguments, seed=1), train_layer(*arguments, seed=1))
    assert not equal(train_layer(*arguments, seed=1), train_layer(*arguments, seed=2))


@pytest.mark.parametrize("threshold", [0.0, 0.05, 0.3])
def test_pruning_keeps_what_is_above_the_threshold(threshold):
    X, clicks = log(3)
    arguments = (X, clicks, np.ones((X.shape[0], 1)), [0, 40])
    everything = train_layer(*arguments, threshold=0)
    assert (everything.values != 0).all()
    pruned = dense_weights(train_layer(*arguments, threshold=threshold), X.shape[1])
    full = dense_weights(everything, X.shape[1])
    np.testing.assert_array_equal(pruned, np.where(np.abs(full) > np.float32(threshold), full, 0))


def test_max_nonzeros_keeps_the_largest():
    X, clicks = log(4)
    arguments = (X, clicks, np.ones((X.shape[0], 1)), [0, 40])
    full = dense_weights(train_layer(*arguments, threshold=0), X.shape[1])
    layer = train_layer(*arguments, threshold=0, max_nonzeros=6)
    assert np.diff(layer.offsets).max() == 6
    for kept, row in zip(dense_weights(layer, X.shape[1]), full, strict=True):
        assert np.array_equal(kept[kept != 0], row[kept != 0])
        assert np.abs(kept[kept != 0]).min() >= np.sort(np.abs(row))[-6]


def test_features_ascend_and_the_bias_comes_last():
    X, clicks = log(5)
    layer = train_layer(X, clicks, np.ones((X.shape[0], 1)), [0, 40])
    for start, end in zip(layer.offsets, layer.offsets[1:], strict=False):
        assert (np.diff(layer.features[start:end]) > 0).all()
    assert (layer.features[layer.offsets[1:] - 1] == X.shape[1]).all()


def test_a_parent_without_instances_has_children_without_weights():
    X = np.eye(2, dtype=np.float32)
    layer = train_layer(X, [[1, 0, 0, 0], [0, 1, 0, 0]], [[1, 0], [1, 0]], [0, 2, 4])
    assert np.diff(layer.offsets)[2:].tolist() == [0, 0]
    assert layer.epochs[2:].tolist() == [0, 0]


def test_children_without_positives_all_get_the_same_weights():
    X, clicks = log(6)
    clicks = sparse.csr_array(clicks.toarray() * (np.arange(40) % 3 > 0))
    weights = dense_weights(train_layer(X, clicks, np.ones((X.shape[0], 1)), [0, 40], threshold=0), X.shape[1])
    assert (weights[::3] == weights[0]).all() and weights[0].any()


GOOD = {
    "x_offsets": np.array([0, 1, 3]), "x_columns": np.array([0, 0, 2], np.int32), "x_values": np.ones(3, np.float32),
    "width": 3, "label_offsets": np.array([0, 1, 2]), "label_columns": np.array([0, 1], np.int32),
    "label_values": np.ones(2, np.float32), "reached_offsets": np.array([0, 1, 2]),
    "reached_columns": np.zeros(2, np.int32), "child_offsets": np.array([0, 2]), "loss": "squared_hinge", "cost": 1.0,
    "bias": 1.0, "tolerance": 0.1, "epochs": 10, "threshold": 0.1, "max_nonzeros": 100, "seed": 0, "threads": 1,
}  # fmt: skip

NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(f"{m}_offsets", np.array(bad)) for m in ("x", "label", "reached") for bad in
          ([], [0], [1, 1, 2], [0, 5, 2], [0, 1, 99], [0, -1, 2], [0, 1, 1], [0, 1, 2, 2])],
        *[(f"{m}_columns", np.array(bad, np.int32)) for m in ("x", "label", "reached") for bad in
          ([], [-1, 0], [7, 1, 2], [2**31 - 1, 0, 1], [0, 2, 1], [0, 1, 1])],
        *[("child_offsets", np.array(bad)) for bad in ([], [0], [0, 1], [0, -2], [2, 0], [0, 2, 1], [0, 2**40])],
        *[("x_values", np.array(bad, np.float32)) for bad in ([], [1, 1], [1, NAN, 1], [1, INFINITY, 1])],
        *[("label_values", np.array(bad, np.float32)) for bad in ([1], [0, 1], [-1, 1], [NAN, 1], [INFINITY, 1])],
        ("width", 2), ("width", 2**31), ("loss", "square"), ("cost", 0.0), ("cost", NAN), ("cost", INFINITY),
        ("bias", NAN), ("tolerance", 0.0), ("tolerance", NAN), ("epochs", 0), ("threshold", -0.1), ("threshold", NAN),
    ],
)  # fmt: skip
def test_hostile_arrays_are_refused(name, value):
    _native.train_layer(**GOOD)
    if np.array_equal(value, GOOD[name]):
        pytest.fail("this case is not hostile")
    with pytest.raises(ValueError):
        _native.train_layer(**(GOOD | {name: value}))


@pytest.mark.parametrize("option", [{"loss": "cubic"}, {"C": 0}, {"threshold": -1}, {"tolerance": 0}, {"epochs": 0},
                                    {"max_nonzeros": 0}, {"threads": 0}, {"bias": NAN}])  # fmt: skip
def test_options_out_of_range_are_input_errors(option):
    with pytest.raises(InputError):
        train_layer(np.eye(2), np.eye(2), np.ones((2, 1)), [0, 2], **option)


def test_matrices_that_do_not_fit_are_input_errors():
    for X, labels, reached, offsets in [
        (np.eye(3), np.eye(2), np.ones((2, 1)), [0, 2]),
        (np.eye(2), np.eye(2), np.ones((2, 2)), [0, 2]),
        (np.eye(2), np.eye(2), np.ones((2, 1)), [0, 3]),
        (np.ones(2), np.eye(2), np.ones((2, 1)), [0, 2]),
        (np.array([[NAN]]), np.eye(1), np.ones((1, 1)), [0, 1]),
        (np.eye(1), -np.eye(1), np.ones((1, 1)), [0, 1]),
    ]:
        with pytest.raises(InputError):
            train_layer(X, labels, reached, offsets)
    with pytest.raises(InputError, match="column for each"):
        train_matchers(np.eye(2), np.eye(2), LabelTree([[0, 3]], [0, 1, 2]))


def test_huge_values_do_not_hang_or_crash():
    X = np.array([[1e30, 1e30], [1e-30, 0]], np.float32)
    layer = train_layer(X, np.eye(2), np.ones((2, 1)), [0, 2], epochs=50, C=1e20)
    assert np.isfinite(layer.values).all()
