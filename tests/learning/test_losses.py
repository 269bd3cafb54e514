"""Losses: hand examples, and gradients against finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla.learning import losses
from vizsla.learning.distillation import distillation
from vizsla.learning.losses import LOSSES, in_pieces, swap_costs

STEP = 1e-6


def sorted_scores(seed, queries=4, relevant=2, others=7):
    pick = np.random.default_rng(seed)
    scores = -np.sort(-pick.standard_normal((queries, others)), axis=1)
    weights = pick.uniform(size=(queries, relevant))
    weights[1, 1] = 0  # padding
    return pick.standard_normal((queries, relevant)), scores, weights / weights.sum(axis=1, keepdims=True)


def differences(function, values):
    """Return the slopes of a function of an array, entry by entry."""
    slopes = np.zeros_like(values)
    for at in np.ndindex(values.shape):
        up, down = values.copy(), values.copy()
        up[at] += STEP
        down[at] -= STEP
        slopes[at] = (function(up) - function(down)) / (2 * STEP)
    return slopes


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_gradients_are_those_of_finite_differences(name, seed):
    relevant, others, weights = sorted_scores(seed)
    found = LOSSES[name](relevant, others, weights)
    np.testing.assert_allclose(
        found.relevant, differences(lambda s: LOSSES[name](s, others, weights).loss, relevant), atol=1e-7
    )
    np.testing.assert_allclose(
        found.others, differences(lambda s: LOSSES[name](relevant, s, weights).loss, others), atol=1e-7
    )


@pytest.mark.parametrize("name", LOSSES)
def test_every_pair_pushes_its_two_sides_alike(name):
    found = LOSSES[name](*sorted_scores(3))
    np.testing.assert_allclose(found.relevant.sum(axis=1), -found.others.sum(axis=1))
    assert (found.relevant <= 0).all() and (found.others >= 0).all()


@pytest.mark.parametrize("name", LOSSES)
def test_padding_learns_nothing_and_large_scores_stay_finite(name):
    relevant, others, weights = sorted_scores(4)
    assert LOSSES[name](relevant, others, weights).relevant[1, 1] == 0
    found = LOSSES[name](1e4 * relevant, 1e4 * others, weights)
    assert np.isfinite(found.loss) and np.isfinite(found.relevant).all() and np.isfinite(found.others).all()


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("most", [1, 30, 10_000])
def test_pieces_add_up_to_the_whole(monkeypatch, name, most):
    monkeypatch.setattr(losses, "MAX_PAIRS_PER_CHUNK", most)
    relevant, others, weights = sorted_scores(5, queries=9, relevant=5)
    weights[2:, 1:] = 0  # only the first queries have many
    whole, found = LOSSES[name](relevant, others, weights), in_pieces(LOSSES[name], relevant, others, weights)
    assert found.loss == pytest.approx(whole.loss, rel=1e-12)
    np.testing.assert_allclose(found.relevant, whole.relevant, rtol=1e-12)
    np.testing.assert_allclose(found.others, whole.others, rtol=1e-12)


def test_swap_costs_are_those_of_ranks():
    costs = swap_costs(np.array([[[-1.0, 2.0, 3.0]]]))  # one other above, two below: ranks 1, [2], 3, 4
    discounts = 1 / np.log2(1 + np.array([1, 3, 4]))
    np.testing.assert_allclose(costs[0, 0], np.abs(discounts - 1 / np.log2(3)))


@pytest.mark.parametrize("name", LOSSES)
def test_the_order_of_the_others_does_not_matter(name):
    relevant, others, weights = sorted_scores(6)
    order = np.array([3, 0, 6, 2, 5, 1, 4])
    sorted_, mixed = (LOSSES[name](relevant, scores, weights) for scores in (others, others[:, order]))
    assert mixed.loss == pytest.approx(sorted_.loss)
    np.testing.assert_allclose(mixed.relevant, sorted_.relevant)
    np.testing.assert_allclose(mixed.others, sorted_.others[:, order])


def test_a_swap_with_the_next_below_costs_something():
    assert swap_costs(np.array([[[1.0]]]))[0, 0, 0] == pytest.approx(1 - 1 / np.log2(3))


@pytest.mark.parametrize("seed", range(3))
def test_distillation_is_the_divergence_and_its_gradient(seed):
    pick = np.random.default_rng(seed)
    student, teacher = pick.standard_normal((4, 6)), pick.standard_normal((4, 6))
    listed = pick.uniform(size=(4, 6)) < 0.7
    listed[:, 0] = True
    loss, gradient = distillation(student, teacher, listed)
    wanted = 0.0
    for row in range(4):
        p, q = (np.exp(scores[row, listed[row]]) for scores in (teacher, student))
        p, q = p / p.sum(), q / q.sum()
        wanted += (p * np.log(p / q)).sum() / 4
    assert loss == pytest.approx(wanted)
    np.testing.assert_allclose(gradient, differences(lambda s: distillation(s, teacher, listed)[0], student), atol=1e-7)


def test_distillation_of_nothing_is_nothing():
    loss, gradient = distillation(np.ones((2, 3)), np.ones((2, 3)), np.zeros((2, 3), bool))
    assert loss == 0 and not gradient.any()


def test_distillation_of_huge_scores_stays_finite():
    loss, gradient = distillation([[1e4, -1e4]], [[-1e4, 1e4]], [[True, True]])
    assert np.isfinite(loss) and np.isfinite(gradient).all()
