"""TokenIndex: exact, the same bits however it is asked, built or grown."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.indexes import tokens_twin as twin
from vizsla import _native, load
from vizsla.core.candidates import Candidates
from vizsla.core.sparse import SparseRows
from vizsla.errors import FormatError, InputError
from vizsla.indexes.tokens import SEGMENT_ARRAYS, TokenIndex, TokenSegment


def random_bags(items: int, tokens: int, rng: np.random.Generator) -> np.ndarray:
    """Return which items hold which tokens: the first tokens often, the last ones seldom."""
    return rng.random((items, tokens)) < 0.7 / np.arange(1, tokens + 1)


def random_queries(count: int, tokens: int, rng: np.random.Generator) -> np.ndarray:
    shares = rng.random((count, 1)) * rng.random((count, tokens)) ** 3 * 10.0 ** rng.integers(-6, 6, (count, 1))
    return np.where(rng.random((count, tokens)) < rng.random((count, 1)), shares, 0).astype(np.float32)


def answers(found: Candidates) -> list[list[tuple[int, float]]]:
    ends = found.offsets.tolist()
    pairs = list(zip(found.items.tolist(), found.scores.tolist(), strict=True))
    return [pairs[a:b] for a, b in pairwise(ends)]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 400), st.integers(1, 60), st.integers(1, 50))
def test_search_is_the_twin_bit_for_bit(seed, items, tokens, k):
    rng = np.random.default_rng(seed)
    held, queries = random_bags(items, tokens, rng), random_queries(4, tokens, rng)
    norms = rng.random(items, np.float32) + np.float32(0.2)
    index = TokenIndex.build(held.astype(np.float32), norms=norms)
    allowed = rng.random(items) < 0.5
    plain, filtered = index.search(queries, k), index.search(queries, k, filter=allowed)
    for row, query in enumerate(queries):
        assert answers(plain)[row] == twin.best(held, norms, query, k)
        assert answers(filtered)[row] == twin.best(held, norms, query, k, allowed)


@cache
def two_blocks() -> tuple[SparseRows, np.ndarray]:
    """Return the rows and norms of items that fill a block and some of the next."""
    rng = np.random.default_rng(7)
    items, tokens = 80_000, 800
    share = np.minimum(0.5, 2.0 / np.arange(1, tokens + 1))
    columns = [np.unique(rng.integers(0, items, int(items * one))) for one in share]
    pairs = np.concatenate(columns), np.repeat(np.arange(tokens), [len(one) for one in columns])
    return SparseRows.of_entries(*pairs, (items, tokens)), (1 / (1.5 + rng.random(items))).astype(np.float32)


@pytest.mark.parametrize("terms", [7, 768])
def test_many_blocks_and_windows_change_nothing(terms):
    rows, norms = two_blocks()
    rng = np.random.default_rng(terms)
    items, tokens = rows.shape
    index, matrix = TokenIndex.build(rows, norms=norms), rows.to_scipy().astype(np.int64)
    queries = np.zeros((2, tokens), np.float32)
    for row in range(2):
        queries[row, rng.choice(tokens, terms, replace=False)] = rng.random(terms) ** 2 + 1e-3
    found = answers(index.search(queries, 100))
    for row, query in enumerate(queries):
        whole, unit = twin.units(query)
        scores = (matrix @ whole).astype(np.float32) * np.float32(unit) * norms
        order = np.lexsort((np.arange(items), -scores))[:100]
        assert found[row] == [(int(item), float(scores[item])) for item in order if scores[item] > 0]
    everything = Candidates.from_rows([np.arange(items, dtype=np.int32)])
    assert np.array_equal(index.scores(queries[1:], everything).scores, scores)
    few = np.int32([item for item, _ in found[1]][::-1])
    assert np.array_equal(index.scores(queries[1:], Candidates.from_rows([few])).scores, scores[few])


def test_threads_change_nothing():
    rng = np.random.default_rng(1)
    index = TokenIndex.build(random_bags(3000, 50, rng).astype(np.float32))
    queries = random_queries(40, 50, rng)
    assert index.search(queries, 20, threads=3) == index.search(queries, 20)


@pytest.mark.parametrize("parts", [[50, 50], [90, 5, 5], [1] * 30, [0, 10, 0]])
def test_appended_items_are_found_as_if_they_had_always_been_there(parts, tmp_path):
    rng = np.random.default_rng(2)
    held = random_bags(sum(parts), 40, rng).astype(np.float32)
    norms = rng.random(len(held), np.float32) + np.float32(0.1)
    queries = random_queries(10, 40, rng)
    ends = np.cumsum(parts)
    grown = TokenIndex.build(held[: ends[0]], norms=norms[: ends[0]])
    for start, end in pairwise(ends):
        grown = grown.appended(SparseRows.of(held[start:end]), norms[:end])
    whole = TokenIndex.build(held, norms=norms)
    assert grown.search(queries, 20) == whole.search(queries, 20)
    assert grown.item_rows() == whole.item_rows()
    assert len(grown.segments) < 6
    assert load(grown.save(tmp_path / "grown")).search(queries, 20) == whole.search(queries, 20)


def test_appending_shares_the_lists_that_are_there():
    index = TokenIndex.build(np.ones((70_000, 1), np.float32))
    more = index.appended(SparseRows.of(np.ones((10, 2), np.float32)), np.ones(70_010, np.float32))
    assert more.segments[0] is index.segments[0]


def test_a_filter_only_removes():
    rng = np.random.default_rng(3)
    held = random_bags(500, 30, rng)
    index, kept = TokenIndex.build(held.astype(np.float32)), rng.random(500) < 0.3
    queries = random_queries(5, 30, rng)
    left = index.restricted(kept).search(queries, 500)
    assert [[(int(np.flatnonzero(kept)[i]), s) for i, s in row] for row in answers(left)] == answers(
        index.search(queries, 500, filter=kept)
    )


def test_a_posting_takes_two_bytes_at_most():
    rng = np.random.default_rng(4)
    index = TokenIndex.build(random_bags(20_000, 60, rng).astype(np.float32))
    lists = index.segments[0].arrays["data"].nbytes
    assert lists <= 2 * index.postings


@pytest.mark.parametrize(
    ("queries", "reason"),
    [([[-1.0, 0]], "weights"), ([[np.nan, 0]], "weights"), ([[1e31, 0]], "weights"), ([[1.0]], "columns")],
)
def test_wrong_queries_are_refused(queries, reason):
    with pytest.raises(InputError, match=reason):
        TokenIndex.build(np.eye(2, dtype=np.float32)).search(np.float32(queries), 1)


@pytest.mark.parametrize("norms", [[1.0], [0.0, 1.0], [np.nan, 1.0], [1.0, 1e7]])
def test_wrong_norms_are_refused(norms):
    with pytest.raises(InputError, match="norm"):
        TokenIndex.build(np.eye(2, dtype=np.float32), norms=np.float32(norms))


def test_a_row_names_each_token_once():
    with pytest.raises(ValueError, match="each token once"):
        _native.bag_build(np.array([0, 2]), np.int32([1, 1]), 2)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_damage_to_the_arrays_goes_further_than_a_refusal(data):
    rng = np.random.default_rng(5)
    sound = TokenSegment.of(SparseRows.of(random_bags(40, 12, rng).astype(np.float32)))
    arrays = {name: array.copy() for name, array in sound.arrays.items()}
    name = data.draw(st.sampled_from(list(SEGMENT_ARRAYS)))
    place = data.draw(st.integers(0, len(arrays[name]) - 1))
    limits = np.iinfo(arrays[name].dtype)
    near = [int(arrays[name][place]) + step for step in (-1, 1, 2)]
    value = data.draw(st.one_of(st.sampled_from(near), st.integers(limits.min, limits.max)))
    arrays[name][place] = np.clip(value, limits.min, limits.max)
    try:
        index = TokenIndex([TokenSegment(arrays, 12)], np.ones(40, np.float32), 12)
    except InputError:
        return
    query = np.ones((1, 12), np.float32)
    found = index.search(query, 50)
    assert np.array_equal(index.scores(query, found).scores, found.scores)


@pytest.mark.parametrize("places", [[3, 1], [3, 3], [3, 40], [3, 0xFFFF]])
def test_the_items_of_a_list_ascend_and_are_of_their_block(places):
    sound = TokenSegment.of(SparseRows.of(np.float32([[row in (3, 7)] for row in range(40)])))
    assert sound.arrays["data"].tolist() == [3, 7]
    with pytest.raises(InputError, match="must ascend and be of its block"):
        TokenSegment(sound.arrays | {"data": np.uint16(places)}, 1)


def test_damaged_files_are_refused(tmp_path):
    folder = TokenIndex.build(np.eye(3, dtype=np.float32)).save(tmp_path / "index")
    file = folder / "data.npy"
    file.write_bytes(file.read_bytes()[:-2] + b"\xff\xff")
    with pytest.raises(FormatError):
        load(folder)
    with pytest.raises(FormatError):
        load(folder, verify=False)
