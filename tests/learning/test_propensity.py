"""Position bias: propensities of simulated logs are found again, and corrected clicks rank as relevance does."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vizsla.errors import InputError
from vizsla.learning.propensity import (
    PositionedClick,
    _most_likely,
    _never_rising,
    position_propensities,
    unbiased_weights,
)

TRUE = 1 / np.arange(1, 9)
"""How likely each of eight positions is looked at."""


def simulated(searches=60_000, queries=40, seed=0):
    """Return clicks, what was shown, and the relevance by which examined items were clicked.

    Every query has a ranking that is unrelated to relevance, and two neighbors are swapped at random in each search.
    """
    rng = np.random.default_rng(seed)
    relevance = rng.uniform(0.05, 0.9, (queries, len(TRUE)))
    ranking = np.stack([rng.permutation(len(TRUE)) for _ in range(queries)])
    clicks, shown = [], Counter()
    for moment in range(searches):
        query = int(rng.integers(queries))
        order = ranking[query].copy()
        for _ in range(4):
            at = int(rng.integers(len(order) - 1))
            order[[at, at + 1]] = order[[at + 1, at]]
        looked = rng.random(len(order)) < TRUE
        for place, item in enumerate(order.tolist(), 1):
            shown[f"q{query}", f"i{item}", place] += 1
            if looked[place - 1] and rng.random() < relevance[query, item]:
                clicks.append(PositionedClick(f"q{query}", f"i{item}", 1.0, float(moment), place))
    return clicks, shown, relevance


@pytest.fixture(scope="module")
def log():
    return simulated(12_000)


def test_known_propensities_are_found_again(log):
    clicks, shown, _ = log
    found = position_propensities(clicks, shown)
    assert np.allclose(found, TRUE, atol=0.03)


def test_the_likelihood_is_at_its_maximum():
    shown = {("q", item, place): 10 + 7 * place for item in "ab" for place in (1, 2, 3)}
    counts = {("q", "a", 1): 30, ("q", "a", 2): 14, ("q", "a", 3): 9, ("q", "b", 1): 12, ("q", "b", 3): 2}
    clicks = [PositionedClick(*key[:2], 1.0, None, key[2]) for key, count in counts.items() for _ in range(count)]
    found = position_propensities(clicks, shown)

    def likelihood(propensities):
        total = 0.0
        for item in "ab":
            chances = np.array([shown["q", item, place] * propensities[place - 1] for place in (1, 2, 3)])
            own = np.array([counts.get(("q", item, place), 0) for place in (1, 2, 3)])
            total += float(own @ np.log(chances / chances.sum()))
        return total

    for place in (1, 2):
        for factor in (0.97, 1.03):
            other = found.copy()
            other[place] *= factor
            assert likelihood(other) < likelihood(found)


def test_corrected_clicks_win_back_most_of_what_the_bias_costs(log):
    clicks, shown, relevance = log
    corrected = unbiased_weights(clicks, position_propensities(clicks, shown))
    assert corrected.sum() == pytest.approx(len(clicks))

    def best_found(weights):
        """Return the mean relevance of each query's item with most weight."""
        sums = np.zeros(relevance.shape)
        for click, weight in zip(clicks, weights, strict=True):
            sums[int(click.query[1:]), int(click.item[1:])] += weight
        return relevance[np.arange(len(sums)), sums.argmax(axis=1)].mean()

    perfect, biased = relevance.max(axis=1).mean(), best_found(np.ones(len(clicks)))
    assert perfect - biased > 0.05
    assert best_found(corrected) - biased > 0.8 * (perfect - biased)


def test_items_that_never_move_say_nothing():
    clicks = [PositionedClick("q", "a", 1.0, None, 1)] * 9 + [PositionedClick("q", "b", 1.0, None, 2)]
    assert position_propensities(clicks, {("q", "a", 1): 9, ("q", "b", 2): 9}).tolist() == pytest.approx([1, 0.5**0.5])
    assert position_propensities([], {}).tolist() == [1.0]


def test_a_click_counts_at_most_ten_times_as_much():
    clicks = [PositionedClick("q", "a", 1.0, None, place) for place in (1, 2, 900, None)]
    weights = unbiased_weights(clicks, [1.0, 0.001])
    assert (weights / weights[0]).tolist() == pytest.approx([1, 10, 10, 1])
    with pytest.raises(InputError, match="`propensities` must be"):
        unbiased_weights(clicks, [])
    with pytest.raises(InputError, match="position must be 1 or more"):
        position_propensities([PositionedClick("q", "a", 1.0, None, 0)], {})


@pytest.mark.parametrize("first", [0.25, 0.5, 4.0])
def test_corrections_are_relative_to_the_first_position(first):
    clicks = [PositionedClick("q", "a", 1.0, None, place) for place in (1, 2, 3)]
    weights = unbiased_weights(clicks, [first, first / 5, first / 1000])
    assert (weights / weights[0]).tolist() == pytest.approx([1, 5, 10])


def test_a_position_of_which_nothing_is_known_has_the_propensity_of_the_one_above():
    shown = {("q", "a", place): 100 for place in (1, 2, 4)}
    clicks = [PositionedClick("q", "a", 1.0, None, 1)] * 40
    first, second, unknown, _ = position_propensities(clicks, shown)
    assert first == 1 and unknown == pytest.approx(second) and second < 0.1


@settings(max_examples=30)
@given(st.integers(2, 5), st.integers(3, 12), st.integers(0, 10**6))
def test_propensities_are_those_under_which_the_clicks_are_most_likely(positions, count, seed):
    """At the maximum the expected clicks of each position, given those of its pairs, are as many as there were."""
    rng = np.random.default_rng(seed)
    pairs, places = np.repeat(np.arange(count), positions), np.tile(np.arange(positions), count)
    seen = rng.integers(5, 60, len(pairs)).astype(np.float64)
    clicked = rng.integers(1, 9, len(pairs)).astype(np.float64)
    found = _most_likely(pairs, places, seen, clicked, positions)
    expected = np.zeros(positions)
    for pair in range(count):
        own = pairs == pair
        shares = seen[own] * found[places[own]]
        expected[places[own]] += clicked[own].sum() * shares / shares.sum()
    assert expected == pytest.approx(np.bincount(places, clicked), rel=1e-3)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4)), min_size=1, max_size=8))
def test_propensities_that_never_rise_are_the_nearest_by_weight(points):
    """The weighted antitonic fit at a place is the lowest mean of a run up to it, of the highest of one from it."""
    values, weights = np.array(points, np.float64).T

    def mean(start, end):
        return (values[start : end + 1] * weights[start : end + 1]).sum() / weights[start : end + 1].sum()

    count = len(points)
    wanted = [min(max(mean(i, j) for j in range(at, count)) for i in range(at + 1)) for at in range(count)]
    assert _never_rising(values, weights).tolist() == pytest.approx([value / wanted[0] for value in wanted])
