"""Beam search against a numpy twin that scores every path."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tests.indexes.tree.trees import DIM, activation, make_matchers, make_queries, make_tree, twin_scores
from vizsla.core.candidates import Candidates
from vizsla.errors import InputError
from vizsla.indexes.tree import NodeWeights, TreeIndex, layer_matchers, node_matcher


@pytest.mark.parametrize("transform", ["l1-hinge", "l2-hinge", "l3-hinge", "l4-hinge", "l5-hinge", "sigmoid", "none"])
def test_unlimited_beam_is_exhaustive_scoring(transform):
    pick = np.random.default_rng(3)
    layers, items = make_tree(pick, [5, 4, 6])
    matchers, queries = make_matchers(pick, layers), make_queries(pick, 9)
    index = TreeIndex.build(layers, items, matchers, dim=DIM, transform=transform)
    truth = twin_scores(layers, items, matchers, queries, transform)
    found = index.with_effort(len(index)).search(queries, len(index))
    assert found.to_csr(items=len(index)).toarray() == pytest.approx(truth, rel=1e-4, abs=1e-4)
    assert all(len(row) == len(index) for row in found)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000), st.lists(st.integers(1, 7), min_size=1, max_size=4), st.integers(1, 12), st.integers(1, 9)
)
def test_search_scores_and_masks_agree_with_the_twin(seed, fanouts, k, beam):
    pick = np.random.default_rng(seed)
    layers, items = make_tree(pick, fanouts)
    matchers, queries = make_matchers(pick, layers), make_queries(pick, 4)
    index = TreeIndex.build(layers, items, matchers, dim=DIM)
    truth = twin_scores(layers, items, matchers, queries)
    allowed = pick.random(len(index)) < 0.5
    for mask in (None, allowed):
        found = index.with_effort(beam).search(queries, k, filter=mask)
        for query in range(4):
            numbers, scores = found.row(query)
            if mask is None or mask.all():
                assert numbers.tolist() == beam_twin(layers, items, matchers, queries[[query]], beam, k)
            else:
                assert len(numbers) == min(k, int(mask.sum())) and mask[numbers].all()
            assert scores == pytest.approx(truth[query, numbers], rel=1e-4, abs=1e-4)
        assert index.score(queries, found) == found
        assert index.with_effort(beam).search(queries, k, filter=mask, threads=2) == found


def beam_twin(layers, items, matchers, query, beam, k):
    """Beam search as the paper describes it, one node after another."""
    x = np.append(query.toarray().ravel(), 1.0)
    frontier = [(0.0, 0)]
    for number, (offsets, nodes) in enumerate(zip(layers, matchers, strict=True)):
        w = csr_array((nodes.values, nodes.features, nodes.offsets), shape=(offsets[-1], DIM + 1)).toarray()
        reached = [
            (score + float(activation(w[child] @ x, "l3-hinge")), child)
            for score, node in frontier
            for child in range(offsets[node], offsets[node + 1])
        ]
        last = number == len(layers) - 1
        if last:
            reached = [(score, int(items[position])) for score, position in reached]
        frontier = sorted(reached, key=lambda pair: (-np.float32(pair[0]), pair[1]))[: k if last else beam]
    return [item for _, item in frontier]


@pytest.mark.parametrize("beam", [1, 2, 5])
def test_beam_follows_the_papers_search(beam):
    pick = np.random.default_rng(11)
    layers, items = make_tree(pick, [6, 6, 9])
    matchers, queries = make_matchers(pick, layers), make_queries(pick, 30)
    index = TreeIndex.build(layers, items, matchers, dim=DIM)
    found = index.with_effort(beam).search(queries, 2)
    for query in range(30):
        twin = beam_twin(layers, items, matchers, queries[[query]], beam, 2)
        assert found.row(query)[0].tolist() == twin


@pytest.mark.parametrize(("weights", "tolerance"), [("int16", 2e-3), ("int8", 0.5)])
def test_compact_weights_lose_little(weights, tolerance):
    pick = np.random.default_rng(5)
    layers, items = make_tree(pick, [8, 30])
    matchers, queries = make_matchers(pick, layers), make_queries(pick, 20)
    full = TreeIndex.build(layers, items, matchers, dim=DIM)
    compact = TreeIndex.build(layers, items, matchers, dim=DIM, weights=weights)
    everything = full.with_effort(len(full)).search(queries, len(full))
    difference = full.score(queries, everything).to_csr() - compact.score(queries, everything).to_csr()
    scale = np.abs(everything.scores).max()
    assert abs(difference).max() < tolerance * max(scale, 1)
    assert compact.nbytes < full.nbytes


def test_ties_go_to_the_lower_item_number():
    layers, items = [np.array([0, 4], np.int32)], np.array([2, 0, 3, 1], np.int32)
    silent = NodeWeights(np.zeros(5, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
    index = TreeIndex.build(layers, items, [silent], dim=DIM)
    assert index.search(csr_array(np.eye(1, DIM, dtype=np.float32)), 3).items.tolist() == [0, 1, 2]


def test_a_query_without_features_finds_nothing_and_scores_the_bias():
    layers, items, matchers = _small()
    index = TreeIndex.build(layers, items, matchers, dim=DIM)
    empty = csr_array((1, DIM), dtype=np.float32)
    assert len(index.search(empty, 3).items) == 0
    scored = index.score(empty, Candidates.from_rows([np.arange(len(index), dtype=np.int32)]))
    assert scored.to_csr().toarray() == pytest.approx(twin_scores(layers, items, matchers, empty), rel=1e-4)


@pytest.mark.parametrize("bias", [0.0, 0.3])
def test_the_bias_feature_has_its_value(bias):
    layers, items, matchers = _small()
    index = TreeIndex.build(layers, items, matchers, dim=DIM, bias=bias)
    queries = make_queries(np.random.default_rng(4), 6)
    found = index.with_effort(len(index)).search(queries, len(index)).to_csr(items=len(index)).toarray()
    assert found == pytest.approx(twin_scores(layers, items, matchers, queries, bias=bias), rel=1e-4, abs=1e-4)


def test_a_feature_without_weight_is_not_stored():
    layers, items = [np.array([0, 2], np.int32)], np.array([0, 1], np.int32)
    zeros = NodeWeights(np.array([0, 1, 2]), np.array([3, 4], np.int32), np.zeros(2, np.float32))
    built = TreeIndex.build(layers, items, [zeros], dim=DIM).layers[0]
    assert built.entry_offsets.tolist() == [0, 0] and len(built.buckets) == 0


def _small():
    pick = np.random.default_rng(1)
    layers, items = make_tree(pick, [3, 3])
    return layers, items, make_matchers(pick, layers)


@pytest.mark.parametrize(
    "damage",
    [
        lambda la, it, ma: (la, it[:-1], ma),
        lambda la, it, ma: (la, np.zeros_like(it), ma),
        lambda la, it, ma: (la, it - 1, ma),
        lambda la, it, ma: ([la[0], la[1][:-1]], it, ma),
        lambda la, it, ma: ([la[0][::-1].copy(), la[1]], it, ma),
        lambda la, it, ma: (la, it, [ma[0]._replace(features=ma[0].features - 30), ma[1]]),
        lambda la, it, ma: (la, it, [ma[0]._replace(values=ma[0].values * np.float32(np.nan)), ma[1]]),
        lambda la, it, ma: (la, it, [ma[0]._replace(offsets=ma[0].offsets + 1), ma[1]]),
        lambda la, it, ma: (la, it, [ma[0]._replace(offsets=ma[0].offsets[:-1]), ma[1]]),
        lambda la, it, ma: ([np.array([0, 300], np.int32)], np.arange(300, dtype=np.int32), [ma[0]]),
    ],
)
def test_wrong_trees_are_refused(damage):
    layers, items, matchers = damage(*_small())
    with pytest.raises(ValueError):
        TreeIndex.build(layers, items, matchers, dim=DIM)


def test_damaged_buckets_are_searched_without_harm():
    layers, items, matchers = _small()
    index = TreeIndex.build(layers, items, matchers, dim=DIM)
    pick = np.random.default_rng(2)
    for _ in range(50):
        noisy = [
            layer._replace(buckets=pick.integers(0, 2**32, len(layer.buckets), dtype=np.uint32))
            for layer in index.layers
        ]
        broken = TreeIndex(noisy, items, dim=DIM)
        broken.search(make_queries(pick, 3), 5)


def test_wrong_queries_are_refused():
    layers, items, matchers = _small()
    index = TreeIndex.build(layers, items, matchers, dim=DIM)
    query = make_queries(np.random.default_rng(0), 1)
    for call in (
        lambda: index.search(query[:, :3], 1),
        lambda: index.search(query, 0),
        lambda: index.with_effort(0).search(query, 1),
        lambda: index.search(query, 1, filter=np.ones(99, bool)),
        lambda: index.search(csr_array(np.full((1, DIM), np.nan, np.float32)), 1),
        lambda: index.score(query, Candidates.from_rows([np.array([len(index)], np.int32)])),
        lambda: index.score(query, Candidates.from_rows([])),
    ):
        with pytest.raises(InputError):
            call()


@pytest.mark.parametrize("weights", ["float32", "int16", "int8"])
def test_the_layout_can_be_read_back(weights):
    pick = np.random.default_rng(8)
    layers, items = make_tree(pick, [5, 40])
    matchers = make_matchers(pick, layers)
    index = TreeIndex.build(layers, items, matchers, dim=DIM, weights=weights)
    for number, matcher in enumerate(matchers):
        read = layer_matchers(index, number)
        assert np.array_equal(read.offsets, matcher.offsets) and np.array_equal(read.features, matcher.features)
        assert read.values == pytest.approx(matcher.values, abs={"float32": 0, "int16": 1e-4, "int8": 0.03}[weights])
        for node in (0, int(layers[number][-1]) - 1):
            features, values = node_matcher(index, number, node)
            at = slice(read.offsets[node], read.offsets[node + 1])
            assert np.array_equal(features, read.features[at]) and np.array_equal(values, read.values[at])


def test_path_leads_to_the_item():
    pick = np.random.default_rng(9)
    layers, items = make_tree(pick, [4, 4, 4])
    index = TreeIndex.build(layers, items, make_matchers(pick, layers), dim=DIM)
    for item in range(len(index)):
        path = index.path(item)
        assert items[path[-1]] == item
        for number, (parent, child) in enumerate(zip([0, *path], path, strict=False)):
            assert layers[number][parent] <= child < layers[number][parent + 1]
