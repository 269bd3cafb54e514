"""The native solver reaches the optimum that scipy finds for the same problem written in float64."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.indexes.tree.reference import dense_weights, primal, solve
from vizsla.methods.xrlinear.layer import LOSSES, train_layer

EXACT = {"tolerance": 1e-4, "epochs": 30000, "threshold": 0}


def problem(seed, *, instances=20, features=8, children=18, density=0.4, weighted=False):
    """One parent with more children than fit one group of lanes; some children without positives."""
    rng = np.random.default_rng(seed)
    X = (rng.random((instances, features)) < density) * rng.normal(1, 0.5, (instances, features))
    labels = (rng.random((instances, children)) < 0.12).astype(float)
    if weighted:
        labels *= rng.uniform(0.2, 5, labels.shape)
    return X.astype(np.float32), labels.astype(np.float32)


def check_optimal(X, labels, *, loss, C, bias):
    layer = train_layer(X, labels, np.ones((len(X), 1)), [0, labels.shape[1]], loss=loss, C=C, bias=bias, **EXACT)
    with_bias = np.hstack([X, np.full((len(X), 1), bias)]).astype(np.float64)
    weights, columns = dense_weights(layer, X.shape[1]), labels.T.astype(np.float64)
    for child in {0, 1, 2, len(columns) // 2, len(columns) - 1} & set(range(len(columns))):
        found, positives = weights[child], columns[child]
        y, cost = np.where(positives > 0, 1.0, -1.0), C * np.where(positives > 0, positives, 1.0)
        best = solve(with_bias, y, cost, loss)
        # A pair that is settled within the tolerance adds at most its cost times that to the duality gap.
        allowed = 2 * EXACT["tolerance"] * cost.sum() + 1e-5
        assert primal(found, with_bias, y, cost, loss) <= primal(best, with_bias, y, cost, loss) + allowed
        if loss != "hinge":
            np.testing.assert_allclose(found, best, atol=2e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bias", [0.0, 1.0, 2.5])
def test_weights_are_optimal(loss, weighted, bias):
    check_optimal(*problem(3, weighted=weighted), loss=loss, C=1.0, bias=bias)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.01, 30.0])
def test_weights_are_optimal_for_other_costs(loss, C):
    check_optimal(*problem(4, children=5), loss=loss, C=C, bias=1.0)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(LOSSES), st.integers(1, 8), st.integers(1, 8), st.integers(1, 18))
def test_small_problems_of_any_shape_are_solved(seed, loss, instances, features, children):
    data = problem(seed, instances=instances, features=features, children=children, weighted=seed % 2 == 0)
    check_optimal(*data, loss=loss, C=1.0, bias=float(seed % 3))


def test_dense_features_work_as_well():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 16)).astype(np.float32)
    check_optimal(X, np.eye(25, 7, dtype=np.float32), loss="squared_hinge", C=1.0, bias=1.0)


def test_a_looser_tolerance_stops_earlier_and_says_so():
    X, labels = problem(5)
    epochs = [
        train_layer(X, labels, np.ones((len(X), 1)), [0, 18], tolerance=tolerance, epochs=500).epochs.mean()
        for tolerance in (1.0, 0.1, 0.001)
    ]
    assert 1 <= epochs[0] < epochs[1] < epochs[2] < 500


def test_epochs_are_limited():
    X, labels = problem(6)
    layer = train_layer(X, labels, np.ones((len(X), 1)), [0, 18], tolerance=1e-9, epochs=7)
    assert layer.epochs.max() == 7


def test_an_item_does_not_notice_who_is_solved_beside_it():
    X, labels = problem(7, children=18)
    reached = np.ones((len(X), 1))
    together = dense_weights(train_layer(X, labels, reached, [0, 18], threshold=0), 8)
    for child in (0, 7, 17):
        alone = train_layer(X, labels[:, [child]], reached, [0, 1], threshold=0)
        np.testing.assert_array_equal(dense_weights(alone, 8)[0], together[child])
