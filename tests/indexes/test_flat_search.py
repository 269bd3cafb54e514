"""The native scan gives its numpy twin's answer, bit for bit: every storage, kernel, batch, k, filter, thread count."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.indexes.flat_twin import exact_scores, twin
from vizsla import _native
from vizsla.indexes.flat import flat_search
from vizsla.indexes.vectors import STORAGES, ItemVectors, pair_dots


def asked(queries, vectors, k, numbers=None, *, flags=None, threads=1, portable=False):
    """The answers of the native search in the twin's form."""
    parts = (vectors.rows, vectors.low, vectors.step, vectors.longest)
    offsets, items, scores, _ = _native.search_rows(queries, *parts, k, numbers, flags, threads, portable)
    bounds, items = np.frombuffer(offsets, np.int64), np.frombuffer(items, np.int32)
    scores = np.frombuffer(scores, np.float32)
    return [(items[begin:end].tolist(), scores[begin:end].tobytes()) for begin, end in pairwise(bounds)]


@settings(max_examples=150, deadline=None)
@given(
    count=st.integers(0, 400),
    dim=st.sampled_from([1, 2, 7, 8, 9, 15, 16, 31, 32, 33, 40, 100]),
    queries=st.integers(0, 13),
    k=st.integers(1, 450),
    storage=st.sampled_from(STORAGES),
    share=st.sampled_from([None, 0.0, 0.02, 0.5, 1.0]),
    threads=st.sampled_from([1, 2, 7]),
    portable=st.booleans(),
    scale=st.sampled_from([1e-30, 1e-3, 1.0, 1e4]),
    alike=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_equals_its_twin(count, dim, queries, k, storage, share, threads, portable, scale, alike, seed):
    random = np.random.default_rng(seed)
    rows = random.standard_normal((count, dim)) * scale
    if alike:  # hundreds of scores that differ in their last bits, or not at all
        few = rows[: 1 + count // 50].repeat(60, axis=0)[:count]
        rows = few * (1 + random.integers(-2, 3, (count, 1)) * 2.0**-22)
    with np.errstate(over="ignore"):
        vectors = ItemVectors.of(rows.clip(-6e4, 6e4).astype(np.float32), storage=storage)
    given_queries = random.standard_normal((queries, dim)).astype(np.float32)
    numbers = None if share is None else np.flatnonzero(random.random(count) < share).astype(np.int32)
    found = asked(given_queries, vectors, k, numbers, threads=threads, portable=portable)
    assert found == twin(given_queries, vectors, k, numbers)
    if numbers is not None:
        flags = np.isin(np.arange(count), numbers)
        assert asked(given_queries, vectors, k, flags=flags, threads=threads, portable=portable) == found


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("batch", [1, 2, 9])
def test_sums_that_differ_by_less_than_float32_sees_are_ordered_exactly(storage, batch, portable):
    """Large parts cancel, so a float32 sum says nothing about the order: without the slack the wrong items win."""
    random = np.random.default_rng(5)
    rows = np.zeros((3000, 64), np.float32)
    rows[:, :32] = random.integers(-1000, 1000, (3000, 32))
    rows[:, 32:63] = rows[:, :31]
    rows[:, 63] = random.integers(0, 250, 3000) / 1000
    vectors = ItemVectors.of(rows, storage=storage)
    queries = np.ones((batch, 64), np.float32)
    queries[:, 32:63], queries[:, 31] = -1, 0.0
    queries[:, :31] += random.integers(0, 3, (batch, 31)).astype(np.float32) * 2.0**-12
    queries[:, 32:63] = -queries[:, :31]
    for k in (1, 10, 100):
        assert asked(queries, vectors, k, portable=portable) == twin(queries, vectors, k)


@pytest.mark.parametrize("storage", ["float32", "int8"])
@pytest.mark.parametrize("batch", [1, 5])
def test_sums_that_overflow_on_the_way_hide_nobody(storage, batch):
    """A float32 sum may pass infinity although the score is small, and must not set the mark for the others."""
    huge = 1.5e38
    rows = np.array([[huge, huge, -huge, -huge], [1, 2, 3, 4], [-huge, -huge, huge, huge], [5, 0, 0, 0]], np.float32)
    vectors = ItemVectors.of(np.concatenate([rows] * 40), storage=storage)
    queries = np.full((batch, 4), 2, np.float32)
    queries[:, 0] += np.arange(batch, dtype=np.float32)
    for k in (1, 3, 90):
        assert asked(queries, vectors, k) == twin(queries, vectors, k)


def test_half_precision_is_decoded_as_numpy_does():
    bits = np.arange(2**16, dtype=np.uint16)
    halves = bits[np.isfinite(bits.view(np.float16))].view(np.float16)
    rows = np.zeros((len(halves), 9), np.float16)
    rows[:, 0] = rows[:, 8] = halves
    vectors, query = ItemVectors(rows), np.eye(9, dtype=np.float32)[[0, 8]]
    everybody = np.arange(len(rows), dtype=np.int32)
    for row in (0, 1):
        found = pair_dots(query, np.full(len(rows), row), vectors, everybody)
        assert np.array_equal(found, halves.astype(np.float32))
    for portable in (False, True):
        assert asked(query, vectors, 9, portable=portable) == twin(query, vectors, 9)
        assert asked(query[1:], vectors, 9, portable=portable) == twin(query[1:], vectors, 9)


@pytest.mark.parametrize("storage", STORAGES)
def test_pair_dots_of_every_storage_is_the_definition(storage):
    random = np.random.default_rng(7)
    for dim in (1, 7, 8, 9, 31, 385):
        queries, rows = (random.standard_normal((n, dim)).astype(np.float32) for n in (5, 40))
        vectors = ItemVectors.of(rows, storage=storage)
        numbers, items = random.integers(0, 5, 99), random.integers(0, 40, 99).astype(np.int32)
        wanted = exact_scores(queries, vectors.take(slice(None)))[numbers, items]
        assert pair_dots(queries, numbers, vectors, items).tobytes() == wanted.tobytes()


def test_many_queries_in_many_turns():
    random = np.random.default_rng(3)
    vectors = ItemVectors.of(random.standard_normal((90, 5)))
    queries = random.standard_normal((700, 5)).astype(np.float32)
    wanted = twin(queries, vectors, 11)
    assert asked(queries, vectors, 11) == asked(queries, vectors, 11, threads=10**5) == wanted


def test_one_query_over_rows_shared_by_threads():
    random = np.random.default_rng(4)
    rows = random.standard_normal((40_000, 32)).astype(np.float32)
    rows[::7] = rows[3]  # ties across the parts
    vectors = ItemVectors.of(rows)
    for batch in (1, 3):
        alone = flat_search(rows[3 : 3 + batch], vectors, 9000)
        shared = flat_search(rows[3 : 3 + batch], vectors, 9000, threads=2)
        assert all(np.array_equal(one, two) for one, two in zip(alone[:3], shared[:3], strict=True))
        assert alone.items[:9000].tolist() == twin(rows[3:4], vectors, 9000)[0][0]


MATRIX = np.ones((3, 4), np.float32)
WRONG: dict[str, dict[str, Any]] = {
    "as many columns": {"queries": np.ones((1, 5), np.float32)},
    "above 0": {"k": 0},
    "must not be negative": {"longest": -1.0},
    "longest must": {"longest": float("nan")},
    "must be below": {"numbers": np.array([0, 3], np.int32)},
    "be below": {"numbers": np.array([-1], np.int32)},
    "must ascend": {"numbers": np.array([1, 1], np.int32)},
    "a flag for each": {"flags": np.ones(2, np.bool_)},
    "not both": {"flags": np.ones(3, np.bool_), "numbers": np.array([0], np.int32)},
    "only bytes": {"low": np.zeros(4, np.float32)},
    "bytes need": {"vectors": MATRIX.astype(np.uint8)},
    "float32, float16 or uint8": {"vectors": MATRIX.astype(np.float64)},
    "one column": {"vectors": MATRIX[:, :0], "queries": MATRIX[:, :0]},
}


@pytest.mark.parametrize("message", WRONG)
def test_the_border_refuses(message):
    right = {"queries": MATRIX, "vectors": MATRIX, "low": None, "step": None, "longest": 2.0, "k": 1}
    with pytest.raises(ValueError, match=message):
        _native.search_rows(**(right | {"numbers": None, "flags": None, "threads": 1} | WRONG[message]))
