"""A filter that is used again gets postings of its own; no answer changes when it does, nothing is kept too long."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tests.indexes.inverted.test_search import random_impacts, random_queries, shapes
from tests.indexes.inverted.twin import exhaustive, top
from vizsla.core.candidates import Candidates
from vizsla.core.sparse import SparseRows
from vizsla.data.filter import Filter
from vizsla.errors import CompositionError
from vizsla.indexes.inverted import MAX_COPIED_SHARE, FilteredPostings, InvertedIndex
from vizsla.methods.bm25 import bm25


def form_of(index: InvertedIndex, filter: Filter) -> FilteredPostings:
    return filter.form(index, FilteredPostings)


@settings(max_examples=60)
@given(shapes, st.sampled_from([0.0, 0.01, 0.2]), st.integers(1, 30), st.booleans())
def test_before_and_after_it_has_its_own_postings(shape, share, k, with_priorities):
    impacts = random_impacts(**shape)
    queries = random_queries(shape["seed"], 3, shape["terms"], whole=shape["whole"])
    random = np.random.default_rng(shape["seed"])
    priorities = random.random(shape["terms"]).astype(np.float32) if with_priorities else None
    absent = random.random(shape["terms"])
    rows = SparseRows.of(csr_array(impacts))
    index = InvertedIndex.from_rows(rows, priorities=priorities, absent=absent)
    filter = Filter(random.permutation(len(impacts)) < int(share * len(impacts)))
    asked = csr_array(queries)
    before = index.search(asked, k, filter=filter)
    form_of(index, filter).read = index.postings + 1
    after = index.search(asked, k, filter=filter, threads=2)
    assert form_of(index, filter).own is not None
    assert before == after
    assert index.search(asked[[1]], k, filter=filter).items.tolist() == before.row(1)[0].tolist()
    for row, weights in enumerate(queries):
        base = np.float32(np.bincount(np.zeros(len(weights), int), weights * absent)[0])
        expected = top(*exhaustive(impacts, weights, priorities=priorities, base=base), k, filter.mask)
        assert after.row(row)[0].tolist() == expected[0].tolist()


def test_the_postings_come_when_as_many_were_read():
    impacts = random_impacts(5, 9000, 7, whole=False)
    index, query = InvertedIndex.build(csr_array(impacts)), csr_array(random_queries(5, 1, 7, whole=False))
    filter = Filter(np.arange(9000) % 50 == 0)
    read, calls = 0, 0
    expected = index.search(query, 5, filter=filter.mask)
    while form_of(index, filter).own is None and calls < 1000:
        found = index.search(query, 5, filter=filter)
        assert found == expected
        calls, read = calls + 1, read + found.stats.postings
    assert calls > 2
    assert read > index.postings >= read - 2 * expected.stats.postings
    assert found.stats.postings < expected.stats.postings / 10
    assert form_of(index, filter).own.postings < index.postings / 25


@pytest.mark.parametrize("share", [0.3, 0.5, 1.0])
def test_a_filter_that_allows_much_stays_a_mask(share):
    impacts = random_impacts(5, 1000, 7, whole=False)
    index, query = InvertedIndex.build(csr_array(impacts)), csr_array(random_queries(5, 1, 7, whole=False))
    filter = Filter(np.arange(1000) < share * 1000)
    form_of(index, filter).read = 10**9
    index.search(query, 5, filter=filter)
    assert share > MAX_COPIED_SHARE and form_of(index, filter).own is None


def test_a_filter_does_not_keep_an_index_alive():
    index = InvertedIndex.build(csr_array(random_impacts(5, 1000, 7, whole=False)))
    query, filter = csr_array(random_queries(5, 1, 7, whole=False)), Filter(np.arange(1000) < 10)
    for _ in range(100):
        index.search(query, 5, filter=filter)
    assert form_of(index, filter).own is not None
    gone = weakref.ref(index)
    del index
    gc.collect()
    assert gone() is None


def test_restricted_keeps_scores_to_the_last_bit():
    impacts = random_impacts(8, 3000, 7, whole=False)
    index, queries = InvertedIndex.build(csr_array(impacts)), csr_array(random_queries(8, 4, 7, whole=False))
    kept = np.sort(np.random.default_rng(0).permutation(3000)[:200]).astype(np.int32)
    part = index.restricted(kept)
    every = Candidates.from_rows([kept] * 4)
    own = Candidates.from_rows([np.arange(200, dtype=np.int32)] * 4)
    assert part.scores(queries, own).scores.tolist() == index.scores(queries, every).scores.tolist()
    assert (part.to_csr() != index.to_csr()[kept]).nnz == 0
    assert len(index.restricted(np.zeros(0, np.int32))) == 0


def test_an_index_that_forgets_the_filter_is_noticed(monkeypatch):
    search, real = bm25({"a": "fig", "b": "fig tree"}), InvertedIndex.search
    monkeypatch.setattr(InvertedIndex, "search", lambda self, rows, k, *, filter, threads: real(self, rows, k))
    for asked in (search, lambda text, **options: search.search_encoded(search.encode(text), **options)):
        with pytest.raises(CompositionError, match="Bm25 must find only what `where` allows. Got 'a'"):
            asked("fig", where=["b"])
