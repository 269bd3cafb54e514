"""Law 1 on trees: at equal effort an answer is the head of a longer one; a filter may widen the beam."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.indexes.tree.trees import DIM, make_matchers, make_queries, make_tree, twin_scores
from vizsla.data.filter import Filter
from vizsla.indexes.tree import TreeIndex

seeds = st.integers(0, 10_000)
fanouts = st.sampled_from([(9,), (12, 7), (3, 30), (6, 5, 4), (2, 3, 2, 5), (1, 4, 1, 6)])
transforms = st.sampled_from(["l1-hinge", "l3-hinge", "sigmoid", "none"])
weights = st.sampled_from(["float32", "int16", "int8"])
beams = st.sampled_from([1, 2, 3, 5, 10, 1000])


def make_index(seed, fanouts, **options):
    pick = np.random.default_rng(seed)
    layers, items = make_tree(pick, fanouts)
    matchers = make_matchers(pick, layers)
    return TreeIndex.build(layers, items, matchers, dim=DIM, **options), layers, items, matchers, pick


@settings(max_examples=150, deadline=None, derandomize=True)
@given(seeds, fanouts, transforms, weights, beams)
def test_an_answer_is_the_head_of_every_longer_one(seed, fanouts, transform, weights, beam):
    index, _, _, _, pick = make_index(seed, fanouts, transform=transform, weights=weights, beam=beam)
    queries = make_queries(pick, 6)
    longest = index.search(queries, len(index))
    assert longest.stats.widened == 0
    for k in {1, 2, 5, 17, max(1, len(index) // 2), len(index), len(index) + 50}:
        for threads in (1, 2):
            found = index.search(queries, k, threads=threads)
            assert found == longest.top(k)
            assert index.score(queries, found) == found


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seeds, fanouts, transforms)
def test_an_unlimited_beam_is_exhaustive(seed, fanouts, transform):
    index, layers, items, matchers, pick = make_index(seed, fanouts, transform=transform)
    queries = make_queries(pick, 4)
    found = index.with_effort(len(index)).search(queries, len(index))
    assert found.stats.exact and found.stats.widened == 0
    truth = twin_scores(layers, items, matchers, queries, transform)
    for query in range(4):
        numbers, scores = found.row(query)
        assert sorted(numbers.tolist()) == list(range(len(index)))
        assert scores == pytest.approx(truth[query, numbers], rel=1e-5, abs=1e-5)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seeds, fanouts, beams, st.integers(1, 40))
def test_an_answer_that_is_called_exact_is_that_of_an_unlimited_beam(seed, fanouts, beam, k):
    index, _, _, _, pick = make_index(seed, fanouts)
    queries = make_queries(pick, 6)
    allowed = pick.random(len(index)) < 0.6
    for filter in (None, allowed):
        everything = index.with_effort(len(index)).search(queries, k, filter=filter)
        for row in range(6):
            found = index.with_effort(beam).search(queries[[row]], k, filter=filter)
            if found.stats.exact:
                assert found[0] == everything[row]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seeds, fanouts, beams, st.sampled_from([1, 3, 10, 100]))
def test_a_filter_that_allows_everything_is_none(seed, fanouts, beam, k):
    index, _, _, _, pick = make_index(seed, fanouts, beam=beam)
    queries, everything = make_queries(pick, 4), np.ones(len(index), np.bool_)
    alone = index.search(queries, k)
    for filter in (everything, Filter(everything)):
        for threads in (1, 2):
            found = index.search(queries, k, filter=filter, threads=threads)
            assert found == alone and found.stats == alone.stats
            assert np.array_equal(found.upper_bounds, alone.upper_bounds)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(seeds, fanouts, beams, st.sampled_from([1, 3, 10, 100]), st.sampled_from([0.03, 0.2, 0.7, 0.97]))
def test_under_a_filter_k_are_found_whenever_k_match(seed, fanouts, beam, k, share):
    index, _, _, _, pick = make_index(seed, fanouts, beam=beam)
    queries, mask = make_queries(pick, 4), pick.random(len(index)) < share
    mask[pick.integers(len(index))] = False  # a filter that allows everything is none
    found = index.search(queries, k, filter=mask)
    assert mask[found.items].all()
    assert [len(row) for row in found] == [min(k, int(mask.sum()))] * 4
    assert index.score(queries, found) == found
    assert 0 <= found.stats.widened <= 4
    if beam >= len(index):
        assert found.stats.widened == 0 and found.stats.exact


def _two_sided():
    """Two nodes of five items; the first is always the better one."""
    layers = [np.array([0, 2], np.int32), np.array([0, 5, 10], np.int32)]
    pick = np.random.default_rng(0)
    matchers = make_matchers(pick, layers)
    matchers[0] = matchers[0]._replace(
        offsets=np.array([0, 1, 2]), features=np.array([DIM, DIM], np.int32), values=np.array([2, -1], np.float32)
    )
    return TreeIndex.build(layers, np.arange(10, dtype=np.int32), matchers, dim=DIM, beam=1), make_queries(pick, 3)


def test_a_beam_of_one_leaf_finds_no_more_than_it_holds():
    index, queries = _two_sided()
    assert [len(row) for row in index.search(queries, 10)] == [5] * 3
    assert (index.search(queries, 10).items < 5).all()
    assert not index.search(queries, 10).stats.exact


def test_nodes_without_allowed_items_take_no_place_and_the_stats_tell_when_more_were_needed():
    index, queries = _two_sided()
    second = np.arange(10) >= 5
    found = index.search(queries, 5, filter=second)
    assert [len(row) for row in found] == [5] * 3 and found.stats.widened == 0
    both = np.arange(10) % 5 < 2
    assert index.search(queries, 1, filter=both).stats.widened == 0
    found = index.search(queries, 3, filter=both)
    assert [len(row) for row in found] == [3] * 3 and found.stats.widened == 3


def test_a_piece_of_a_filter_still_finds_k_where_it_allows_everything():
    """Other parts' items are forbidden: to this part it is a filter still."""
    index, queries = _two_sided()
    found = index.search(queries, 10, filter=Filter.piece(np.ones(10, np.bool_)))
    assert [len(row) for row in found] == [10] * 3 and found.stats.widened == 3
