"""Marked codes: who is marked stands in the codes, and a query may hold it against them."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla.errors import InputError
from vizsla.indexes.pq.click_flag import mark_length, marked_index
from vizsla.indexes.pq.pq_index import PqIndex

COUNT, DIM = 700, 24


@pytest.fixture(scope="module")
def vectors():
    return np.random.default_rng(3).standard_normal((COUNT, DIM), dtype=np.float32)


@pytest.fixture(scope="module", params=[(8, True, 24), (4, True, 24), (8, False, 24), (8, True, 23)], ids=str)
def plain(request, vectors):
    bits, opq, dim = request.param
    return PqIndex.build(vectors[:, :dim], bytes=4, bits=bits, opq=opq, rounds=2)


@pytest.mark.parametrize("marks", [np.arange(COUNT) % 5 == 0, np.zeros(COUNT, bool), np.ones(COUNT, bool)], ids=sum)
def test_the_last_dimension_says_who_is_marked(plain, vectors, marks):
    found = marked_index(plain, vectors[:, : plain.dim], marks)
    last = found.take(slice(None))[:, -1]
    assert found.dim == plain.dim + 1 and found.bytes == plain.bytes
    assert np.allclose(last, np.where(marks, mark_length(found), 0), rtol=1e-5)


def test_a_mark_makes_nothing_larger(plain, vectors, tmp_path):
    found = marked_index(plain, vectors[:, : plain.dim], np.arange(COUNT) % 4 == 0)
    assert found.codebook.marked and not plain.codebook.marked
    assert found.compression == plain.compression == plain.dim * 4 / plain.bytes
    found.save(tmp_path / "marked")
    assert PqIndex.load(tmp_path / "marked").compression == plain.compression


def test_all_sub_spaces_but_one_stay(plain, vectors):
    found = marked_index(plain, vectors[:, : plain.dim], np.arange(COUNT) % 2 == 0)
    changed = (found.codes != plain.codes).any(axis=0)
    assert changed.sum() == 1
    assert np.array_equal(found.centroids[~changed, :, :-1], plain.centroids[~changed])
    assert not found.centroids[~changed, :, -1].any()


def test_what_a_query_holds_there_marked_items_gain(plain, vectors):
    marks = np.arange(COUNT) % 3 == 0
    found = marked_index(plain, vectors[:, : plain.dim], marks)
    query = np.zeros((1, found.dim), np.float32)
    query[0, :-1] = vectors[0, : plain.dim]
    bare = np.sort(found.search(query, COUNT).items)
    assert np.array_equal(bare, np.arange(COUNT))
    before = found.take(slice(None)) @ query[0]
    query[0, -1] = -2.0
    after = found.take(slice(None)) @ query[0]
    assert np.allclose(before - after, np.where(marks, 2 * mark_length(found), 0), atol=1e-3)
    assert not marks[found.search(query, 50).items].any()


def test_new_items_are_coded_as_unmarked(plain, vectors):
    found = marked_index(plain, vectors[:, : plain.dim], np.ones(COUNT, bool) & (np.arange(COUNT) > 20))
    grown = found.with_items(np.pad(vectors[:30, : plain.dim], ((0, 0), (0, 1))))
    assert not grown.take(slice(COUNT, None))[:, -1].any()


def test_marks_of_other_items_are_refused(plain, vectors):
    with pytest.raises(InputError, match="`vectors` and `marks` must be of the index's 700 items"):
        marked_index(plain, vectors[:, : plain.dim], np.zeros(3, bool))
