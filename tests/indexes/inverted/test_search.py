"""InvertedIndex.search against exhaustive scoring: pruning, masks and threads never change an answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tests.indexes.inverted.twin import exhaustive, top
from vizsla.core.sparse import SparseRows
from vizsla.indexes.inverted import InvertedIndex


def random_impacts(seed, items, terms, *, whole):
    """Return a matrix in which terms differ widely in how many items hold them and how much they give."""
    random = np.random.default_rng(seed)
    density = random.choice([0.001, 0.02, 0.2, 0.9], terms)
    scale = random.choice([0.01, 1.0, 1.0, 8.0], terms)
    if whole:
        values = random.integers(1, 4, (items, terms)).astype(np.float32)
    else:
        values = (random.gamma(0.7, 1.0, (items, terms)) * scale).astype(np.float32) + np.float32(1e-6)
    return np.where(random.random((items, terms)) < density, values, np.float32(0))


def random_queries(seed, count, terms, *, whole):
    random = np.random.default_rng(seed + 1)
    weights = random.integers(0, 3, (count, terms)) if whole else random.gamma(1.0, 1.0, (count, terms))
    return np.where(random.random((count, terms)) < 0.7, weights, 0).astype(np.float32)


shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "items": st.sampled_from([1, 7, 127, 128, 129, 700, 8191, 8192, 8193, 20_000]),
        "terms": st.integers(1, 7),
        "whole": st.booleans(),
    }
)


@given(shapes, st.sampled_from([1, 2, 10, 100, 5000]), st.sampled_from([None, 0.0, 0.01, 0.5, 1.0]))
def test_search_is_exhaustive_search(shape, k, share_allowed):
    impacts = random_impacts(**shape)
    queries = random_queries(shape["seed"], 3, shape["terms"], whole=shape["whole"])
    allowed = None
    if share_allowed is not None:
        allowed = np.random.default_rng(shape["seed"]).random(len(impacts)) < share_allowed
    found = InvertedIndex.build(csr_array(impacts)).search(csr_array(queries), k, filter=allowed)
    for row, weights in enumerate(queries):
        items, scores = found.row(row)
        expected_items, expected_scores = top(*exhaustive(impacts, weights), k, allowed)
        assert items.tolist() == expected_items.tolist()
        assert scores.tolist() == expected_scores.tolist()


@pytest.mark.parametrize("share_allowed", [None, 0.02])
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "real"])
@pytest.mark.parametrize(("items", "terms"), [(9000, 64), (700, 256), (8500, 768)])
def test_search_is_exhaustive_search_with_hundreds_of_terms(items, terms, whole, share_allowed):
    """Learned sparse queries have as many; roundings add up, and most lists are left for last."""
    impacts = random_impacts(terms, items, terms, whole=whole)
    impacts[:, ::3] *= np.random.default_rng(1).random((items, 1)) < 0.02  # whole blocks and windows without a posting
    queries = random_queries(terms, 2, terms, whole=whole)
    queries[0] = np.maximum(queries[0], np.float32(0.5))  # every term
    allowed = None if share_allowed is None else np.random.default_rng(2).random(items) < share_allowed
    index, rows = InvertedIndex.build(csr_array(impacts)), csr_array(queries)
    assert rows[[0]].nnz == terms
    for k in (1, 10, 100):
        found = index.search(rows, k, filter=allowed)
        for row, weights in enumerate(queries):
            expected = top(*exhaustive(impacts, weights), k, allowed)
            assert [part.tolist() for part in found.row(row)] == [part.tolist() for part in expected]
        assert index.score(rows, found, threads=2) == found


@given(shapes, st.sampled_from([None, 0.01, 0.5]))
def test_priorities_order_the_sums_and_change_nothing_else(shape, share_allowed):
    impacts = random_impacts(**shape)
    random = np.random.default_rng(shape["seed"])
    priorities = random.choice(np.float32([0, 1, 1, 2.5]), shape["terms"])
    queries = random_queries(shape["seed"], 2, shape["terms"], whole=shape["whole"])
    allowed = None if share_allowed is None else random.random(len(impacts)) < share_allowed
    rows = csr_array(impacts)
    index = InvertedIndex.from_rows(SparseRows.of(rows), priorities=priorities)
    found = index.search(csr_array(queries), 10, filter=allowed)
    for row, weights in enumerate(queries):
        expected = top(*exhaustive(impacts, weights, priorities=priorities), 10, allowed)
        assert [part.tolist() for part in found.row(row)] == [part.tolist() for part in expected]
    assert index.score(csr_array(queries), found) == found


@given(shapes, st.floats(0, 50, width=32))
def test_a_base_is_added_to_every_score(shape, base):
    impacts = random_impacts(**shape)
    weights = random_queries(shape["seed"], 1, shape["terms"], whole=shape["whole"])
    absent = np.full(shape["terms"], base)
    index = InvertedIndex.build(csr_array(impacts), absent=absent)
    rows = csr_array(weights)
    found = index.search(rows, 20)
    items, scores = top(*exhaustive(impacts, weights[0], base=np.float32(weights[0] @ absent)), 20)
    assert found.items.tolist() == items.tolist()
    assert found.scores.tolist() == scores.tolist()
    assert index.score(rows, found) == found


@given(shapes, st.integers(1, 50))
def test_laws_of_exact_indexes(shape, k):
    index = InvertedIndex.build(csr_array(random_impacts(**shape)))
    queries = csr_array(random_queries(shape["seed"], 5, shape["terms"], whole=shape["whole"]))
    found = index.search(queries, k)
    assert index.search(queries, k + 37).top(k) == found
    assert index.score(queries, found) == found
    assert index.search(queries, k, threads=2) == found
    assert index.score(queries, found, threads=2) == found
    for row in range(5):
        alone = index.search(queries[[row]], k)
        assert alone.items.tolist() == found.row(row)[0].tolist()
        assert alone.scores.tolist() == found.row(row)[1].tolist()


def test_scores_of_all_items_are_the_exhaustive_ones():
    impacts = random_impacts(3, 3000, 6, whole=False)
    weights = random_queries(3, 1, 6, whole=False)
    index = InvertedIndex.build(csr_array(impacts))
    every = np.random.default_rng(0).permutation(3000).astype(np.int32)
    from vizsla.core.candidates import Candidates

    scored = index.score(csr_array(weights), Candidates.from_rows([every]))
    scores, _ = exhaustive(impacts, weights[0])
    assert scored.scores.tolist() == scores[scored.items].tolist()
    assert sorted(scored.items.tolist()) == list(range(3000))


def test_pruning_reads_less_than_everything():
    random = np.random.default_rng(5)
    impacts = np.zeros((100_000, 2), np.float32)
    impacts[:, 0] = 0.01
    impacts[random.permutation(100_000)[:500], 1] = 5.0
    index = InvertedIndex.build(csr_array(impacts))
    found = index.search(csr_array(np.ones((1, 2), np.float32)), 10)
    assert found.items.tolist() == np.flatnonzero(impacts[:, 1])[:10].tolist()
    assert 0 < found.stats.postings < 40_000
    assert found.stats.bytes == 8 * found.stats.postings


def test_a_filter_finds_k_whenever_k_exist():
    impacts = np.ones((30_000, 1), np.float32)
    allowed = np.zeros(30_000, np.bool_)
    allowed[[5, 29_000, 29_999]] = True
    found = InvertedIndex.build(csr_array(impacts)).search(csr_array(np.ones((1, 1))), 3, filter=allowed)
    assert found.items.tolist() == [5, 29_000, 29_999]


def test_many_queries_by_many_threads_at_once():
    """The scratch memory is lent to one search at a time."""
    from concurrent.futures import ThreadPoolExecutor

    index = InvertedIndex.build(csr_array(random_impacts(11, 9000, 7, whole=False)))
    queries = csr_array(random_queries(11, 40, 7, whole=False))
    expected = index.search(queries, 15)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: index.search(queries, 15, threads=2), range(12)):
            assert found == expected


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 2)])
def test_empty_shapes(shape):
    index = InvertedIndex.build(csr_array(shape, dtype=np.float32))
    assert len(index) == shape[0]
    for count in (0, 1, 2):
        found = index.search(csr_array((count, shape[1]), dtype=np.float32), 5)
        assert len(found) == count and not len(found.items)
