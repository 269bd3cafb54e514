"""Search under a filter against a twin that follows the beam over nodes that lead to allowed items."""

from __future__ import annotations

import gc
import weakref
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tests.indexes.tree.trees import DIM, make_matchers, make_queries, make_tree, node_scores, twin_scores
from vizsla.data.filter import Filter
from vizsla.errors import InputError
from vizsla.indexes.tree import NodeWeights, TreeIndex

OFTEN = 70
"""After so many queries what a filter's form derives from the tree has been made."""


def make_index(seed, fanouts, **options):
    pick = np.random.default_rng(seed)
    layers, items = make_tree(pick, fanouts, least=2)
    matchers = make_matchers(pick, layers)
    index = TreeIndex.build(layers, items, matchers, dim=DIM, **options)
    return index, layers, items, matchers, pick


def alive_nodes(layers, items, mask):
    """A layer each: which nodes lead to an allowed item."""
    alive = [mask[items]]
    for offsets in layers[:0:-1]:
        alive.insert(0, np.array([alive[0][a:b].any() for a, b in pairwise(offsets)]))
    return alive


def twin_search(layers, items, scores, mask, beam, k):
    """One query: the best `beam` alive nodes of a layer, or as many more as twice `k` items should need.

    A layer above such a wide one is widened with it, to twice the beam at most. Layers of which at most one node
    of eight is alive are scored whole, below whatever was followed above them, unless they are large for what is asked.
    When the leaves hold too few items, everything is done again with a beam four times as wide.
    """
    alive, allowed = alive_nodes(layers, items, mask), int(mask.sum())
    wanted, whole = min(k, allowed), len(layers)
    while whole and 8 * alive[whole - 1].sum() <= len(alive[whole - 1]):
        whole -= 1
    counts, widths = [int(layer.sum()) for layer in alive], [beam]
    for count in counts[-2::-1]:
        even, ample = (-(-times * wanted * count // allowed) for times in (1, 2))
        enough = max(even + even // 4, min(ample, 3 * beam))
        widths.insert(0, max(beam, min(count, enough), min(widths[0], 2 * beam)))
    visits = sum(1 if t == 0 else min(counts[t - 1], widths[t - 1]) for t in range(whole, len(layers)))
    if sum(counts[whole:]) > 80 * visits:  # then a beam is cheaper
        whole = len(layers)
    for times in 4 ** np.arange(20):
        followed = np.array([0])
        for number, offsets in enumerate(layers):
            children = np.concatenate([np.arange(offsets[n], offsets[n + 1]) for n in followed])
            followed = children[alive[number][children]]
            if number + 1 < min(whole, len(layers)):
                order = np.lexsort((followed, -scores[number][followed].astype(np.float32)))
                followed = followed[order[: widths[number] * int(times)]]
        if len(followed) >= wanted:
            break
    found = items[followed]
    return found[np.lexsort((found, -scores[-1][followed].astype(np.float32)))[:wanted]]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.integers(0, 10_000),
    st.sampled_from([(9,), (12, 40), (30, 9), (6, 7, 30), (3, 4, 5, 6)]),
    st.sampled_from([1.0, 0.5, 0.2, 0.1, 0.04, 0.01]),
    st.sampled_from([1, 2, 5, 12]),
    st.sampled_from([1, 3, 10, 40]),
)
def test_search_is_the_twins(seed, fanouts, share, beam, k):
    index, layers, items, matchers, pick = make_index(seed, fanouts)
    mask = pick.random(len(index)) < share
    mask[pick.permutation(len(index))[:2]] = True, False  # a filter that allows all is none
    queries = make_queries(pick, 5)
    scores, truth = node_scores(layers, matchers, queries), twin_scores(layers, items, matchers, queries)
    found = index.with_effort(beam).search(queries, k, filter=mask)
    for query in range(5):
        twin = twin_search(layers, items, [layer[query] for layer in scores], mask, beam, k)
        numbers, given = found.row(query)
        # The twin adds in float64: what is alike in float32 may stand in another order.
        assert mask[numbers].all() and len(set(numbers.tolist())) == len(twin)
        assert given == pytest.approx(truth[query, numbers], rel=1e-5, abs=1e-5)
        assert given == pytest.approx(truth[query, twin], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("weights", ["float32", "int16", "int8"])
@pytest.mark.parametrize("share", [0.5, 0.1, 0.03, 0.004])
def test_answers_do_not_change_with_use(weights, share):
    index, _, _, _, pick = make_index(3, (8, 9, 30), weights=weights)
    queries = make_queries(pick, 30)
    mask = pick.random(len(index)) < share
    first = [index.search(queries[[row]], 10, filter=mask) for row in range(30)]
    given = Filter(mask)
    for _ in range(OFTEN // 30 + 1):
        index.search(queries, 10, filter=given)
    for row, answer in enumerate(first):
        again = index.search(queries[[row]], 10, filter=given)
        assert again == answer
        assert index.score(queries[[row]], again) == again


@pytest.mark.parametrize("transform", ["l1-hinge", "sigmoid", "none"])
def test_a_filter_with_an_unlimited_beam_only_removes(transform):
    index, layers, items, matchers, pick = make_index(5, (7, 8, 9), transform=transform)
    queries = make_queries(pick, 12)
    index = index.with_effort(len(index))
    everything = index.search(queries, len(index))
    truth = twin_scores(layers, items, matchers, queries, transform)
    for share in (0.6, 0.1, 0.02):
        given = Filter(pick.random(len(index)) < share)
        for _ in range(OFTEN // 12 + 2):
            found = index.search(queries, len(index), filter=given)
            assert found.stats.exact
            for query in range(12):
                numbers, scores = everything.row(query)
                kept = given.mask[numbers]
                assert found.row(query)[0].tolist() == numbers[kept].tolist()
                assert found.row(query)[1].tolist() == scores[kept].tolist()
                assert scores == pytest.approx(truth[query, numbers], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("share", [0.5, 0.05, 0.005])
def test_filtered_ties_go_to_the_lower_item_number(share):
    pick = np.random.default_rng(8)
    layers, items = make_tree(pick, (6, 7, 20), least=4)
    none = np.zeros(0, np.int32), np.zeros(0, np.float32)
    silent = [NodeWeights(np.zeros(offsets[-1] + 1, np.int64), *none) for offsets in layers]
    index = TreeIndex.build(layers, items, silent, dim=DIM)
    index = index.with_effort(len(index))
    query = csr_array(np.eye(1, DIM, dtype=np.float32))
    given = Filter(pick.random(len(index)) < share)
    for _ in range(OFTEN + 2):
        assert index.search(query, 3, filter=given).items.tolist() == given.numbers[:3].tolist()


@pytest.mark.parametrize("share", [0.4, 0.05])
def test_threads_change_nothing(share):
    index, _, _, _, pick = make_index(11, (9, 8, 20))
    queries = make_queries(pick, 50)
    mask = pick.random(len(index)) < share
    one, two = Filter(mask), Filter(mask)
    for _ in range(OFTEN // 50 + 2):
        found = index.search(queries, 7, filter=one)
        assert index.search(queries, 7, filter=two, threads=2) == found
        assert np.array_equal(index.scores(queries, found, threads=2).scores, found.scores)


def test_k_allowed_items_are_found_wherever_they_are():
    index, _, items, _, pick = make_index(2, (20, 20))
    queries = make_queries(pick, 10)
    mask = np.zeros(len(index), dtype=np.bool_)
    mask[items[:3]] = mask[items[-40:]] = True
    for k in (1, 3, 20, 43, 60):
        found = index.with_effort(1).search(queries, k, filter=mask)
        assert [len(row) for row in found] == [min(k, int(mask.sum()))] * 10


def test_nothing_or_everything_allowed():
    index, _, _, _, pick = make_index(4, (5, 6))
    queries = make_queries(pick, 3)
    assert len(index.search(queries, 4, filter=np.zeros(len(index), np.bool_)).items) == 0
    assert index.search(queries, 4, filter=np.ones(len(index), np.bool_)) == index.search(queries, 4)


def test_one_filter_serves_two_trees_and_keeps_neither_alive():
    index, layers, items, _, pick = make_index(6, (5, 30))
    other = TreeIndex.build(layers, items, make_matchers(pick, layers), dim=DIM)
    queries = make_queries(pick, 80)
    given = Filter(pick.random(len(index)) < 0.08)
    for tree in (index, other, index):
        assert tree.search(queries, 5, filter=given) == tree.search(queries, 5, filter=given.mask)
    gone = weakref.ref(other._tree)
    del other, tree
    gc.collect()
    assert gone() is None


def test_strange_filters_are_refused():
    index, layers, items, matchers, pick = make_index(7, (4, 5))
    twin = TreeIndex.build(layers, items, matchers, dim=DIM)
    query = make_queries(pick, 1)
    for mask in (np.ones(len(index) + 1, np.bool_), np.ones(0, np.bool_), np.ones(len(index), np.uint8)):
        with pytest.raises(InputError):
            index.search(query, 1, filter=mask)
    form = twin._tree.filter(np.ones(len(index), np.uint8))
    rows = (query.indptr.astype(np.int64), query.indices.astype(np.int32), query.data)
    with pytest.raises(ValueError, match="this very tree"):
        index._tree.search(*rows, 1, 1, form, 1)
    with pytest.raises(ValueError, match="one entry an item"):
        index._tree.filter(np.ones(len(index) - 1, np.uint8))
    with pytest.raises(TypeError):
        index._tree.search(*rows, 1, 1, np.ones(len(index), np.uint8), 1)


def test_damaged_trees_are_filtered_and_scored_without_harm():
    index, _, items, _, pick = make_index(9, (4, 40))
    queries = make_queries(pick, OFTEN)
    for _ in range(20):
        noisy = [
            layer._replace(
                buckets=pick.integers(0, 2**32, len(layer.buckets), dtype=np.uint32),
                entries=pick.integers(0, 256, len(layer.entries), dtype=np.uint8),
            )
            for layer in index.layers
        ]
        broken = TreeIndex(noisy, items, dim=DIM)
        given = Filter(pick.random(len(index)) < 0.05)
        for _ in range(3):
            found = broken.search(queries, 5, filter=given)
            broken.scores(queries, found)
