"""Arrays that are wrong in every way raise an error that says so; none reaches memory it should not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from vizsla.core.candidates import Candidates
from vizsla.core.sparse import SparseRows
from vizsla.errors import InputError
from vizsla.indexes.inverted import InvertedIndex

OFFSETS, ITEMS, IMPACTS = [0, 2, 3], [0, 2, 1], [1.0, 2.0, 3.0]


def make(count=3, offsets=OFFSETS, items=ITEMS, impacts=IMPACTS, priorities=()):
    arrays = np.array(offsets, np.int64), np.array(items, np.int32), np.array(impacts, np.float32)
    return InvertedIndex(count, *arrays, priorities=np.array(priorities, np.float32))


def test_the_sound_one_is_accepted():
    assert make().search(csr_array([[1.0, 1.0]]), 9).items.tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"offsets": []},
        {"offsets": [1, 2, 3]},
        {"offsets": [0, 3, 2]},
        {"offsets": [0, -1, 3]},
        {"offsets": [0, 2, 4]},
        {"offsets": [0, 2, 2]},
        {"offsets": [0, 2**62, 3]},
        {"items": [2, 0, 1]},
        {"items": [0, 0, 1]},
        {"items": [-1, 2, 1]},
        {"items": [0, 3, 1]},
        {"items": [0, 2]},
        {"impacts": [1.0, 2.0]},
        {"impacts": [1.0, 0.0, 3.0]},
        {"impacts": [1.0, -2.0, 3.0]},
        {"impacts": [1.0, np.nan, 3.0]},
        {"impacts": [np.nan, 1.0, 3.0]},
        {"impacts": [1.0, np.inf, 3.0]},
        {"priorities": [1.0]},
        {"priorities": [1.0, -1.0]},
        {"priorities": [np.nan, 1.0]},
        {"priorities": [1.0, np.inf]},
        {"count": 2},
        {"count": -1},
        {"count": 2**40},
    ],
    ids=str,
)
def test_unsound_postings(wrong):
    with pytest.raises(InputError, match="postings must be sound"):
        make(**wrong)


@pytest.mark.parametrize("kept", [[1, 0], [0, 0], [-1], [3], [0, 3]])
def test_items_to_keep_must_ascend_and_exist(kept):
    with pytest.raises(InputError, match="`numbers` must be items in ascending order"):
        make().restricted(np.array(kept, np.int32))
    with pytest.raises(InputError, match="of the wrong type"):
        make().restricted(np.array([0], np.int64))


@given(
    arrays(np.int64, st.integers(0, 6), elements=st.integers(-3, 9)),
    arrays(np.int32, st.integers(0, 8), elements=st.integers(-2, 6)),
    arrays(np.float32, st.integers(0, 8), elements=st.floats(-1, 4, width=32)),
)
def test_random_postings_raise_or_serve(offsets, items, impacts):
    try:
        index = InvertedIndex(5, offsets, items, impacts)
    except InputError:
        return
    dense = np.zeros((5, index.width), np.float32)
    for term in range(index.width):
        at = slice(offsets[term], offsets[term + 1])
        dense[items[at], term] = impacts[at]
    found = index.search(csr_array(np.ones((1, index.width), np.float32)), 5)
    assert found.scores.tolist() == pytest.approx(sorted((s for s in dense.sum(axis=1) if s > 0), reverse=True))


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, -np.inf, 3e38])
def test_unsound_query_weights(weight):
    for queries in ([[weight, 1.0]], [[1.0, weight], [1.0, 1.0]]):
        with pytest.raises(InputError):
            make(impacts=[2.0, 2.0, 2.0]).search(csr_array(np.array(queries, np.float32)), 3)


@pytest.mark.parametrize(
    ("offsets", "terms", "weights"),
    [
        ([0, 1], [2], [1.0]),
        ([0, 1], [-1], [1.0]),
        ([0, 1], [0], []),
        ([0, 2], [0], [1.0]),
        ([1, 1], [0], [1.0]),
        ([0, 2, 1], [0], [1.0]),
        ([0, 1, 2], [0], [1.0]),
        ([1, 1, 1], [0], [1.0]),
        ([], [], []),
    ],
)
def test_unsound_query_rows(offsets, terms, weights):
    rows = SparseRows(np.array(offsets, np.int64), np.array(terms, np.int32), np.array(weights, np.float32), 2)
    with pytest.raises(InputError):
        make().search(rows, 3)
    with pytest.raises(InputError):
        make().score(rows, Candidates.from_rows([np.array([0], np.int32)] * max(len(offsets) - 1, 0)))


@pytest.mark.parametrize("absent", [[-1.0, 0.0], [np.nan, 0.0], [0.0, np.inf], [1.0], [1.0, 1.0, 1.0]], ids=str)
def test_unsound_shares_of_absent_terms(absent):
    with pytest.raises(InputError, match="postings must be sound. Got others: .*absent share"):
        InvertedIndex.build(csr_array(np.eye(2)), absent=np.array(absent))


def test_shares_of_absent_terms_that_would_overflow():
    index = InvertedIndex.build(csr_array(np.eye(2)), absent=np.array([1e38, 0.0]))
    rows = SparseRows.of(np.array([[2.0, 0.0]]))
    with pytest.raises(InputError, match="overflow"):
        index.search(rows, 3)
    with pytest.raises(InputError, match="overflow"):
        index.score(rows, Candidates.from_rows([np.array([0], np.int32)]))


def test_other_wrong_arguments():
    index, query = make(), csr_array([[1.0, 1.0]])
    with pytest.raises(InputError, match="columns"):
        index.search(csr_array([[1.0]]), 3)
    with pytest.raises(InputError, match="`k`"):
        index.search(query, 0)
    with pytest.raises(InputError, match="`threads`"):
        index.search(query, 1, threads=0)
    for mask in (np.ones(2, np.bool_), np.ones(4, np.bool_), np.ones(3, np.float64)):
        with pytest.raises(InputError):
            index.search(query, 3, filter=mask)
    with pytest.raises(InputError, match="an item below"):
        index.score(query, Candidates.from_rows([np.array([3], np.int32)]))
    with pytest.raises(InputError, match="a row for each"):
        index.score(query, Candidates.from_rows([np.array([0], np.int32)] * 2))


@pytest.mark.parametrize(
    "matrix",
    [[[1.0, -1.0]], [[np.nan, 0.0]], [[np.inf, 0.0]], [[1e39, 0.0]]],
    ids=["negative", "nan", "inf", "too large"],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_unsound_vectors(matrix):
    with pytest.raises(InputError, match="rows must be sound"):
        InvertedIndex.build(csr_array(np.array(matrix)))


def test_a_row_that_names_a_term_twice():
    rows = np.array([0, 2]), np.array([1, 1], np.int32), np.array([1.0, 1.0], np.float32)
    with pytest.raises(InputError, match="each term once"):
        InvertedIndex.from_rows(SparseRows(*rows, 2))
    repeated = csr_array((rows[2], rows[1], rows[0]), shape=(1, 2))
    assert InvertedIndex.build(repeated).search(csr_array([[0.0, 1.0]]), 1).scores.tolist() == [2.0]
