"""What is picked out of many by the CPU's own instructions is what numpy picks, on every set that the CPU has."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla import _native

SETS = (0, 1, 2)
COUNTS = (0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 200)


@pytest.mark.parametrize("instructions", SETS)
@pytest.mark.parametrize("count", COUNTS)
def test_places_from_a_limit_on(count, instructions):
    pick = np.random.default_rng(count)
    values = np.round(pick.normal(size=count), 1).astype(np.float32)
    values[pick.random(count) < 0.2] = np.nan
    values[pick.random(count) < 0.1] = np.inf
    for limit in (0.0, 0.1, -0.1, -np.inf, np.inf, np.nan):
        found = _native.indices_from(values, limit, instructions=instructions)
        assert found.tolist() == np.flatnonzero(values >= np.float32(limit)).tolist()


@pytest.mark.parametrize("instructions", SETS)
@pytest.mark.parametrize("count", COUNTS)
def test_places_within_a_range(count, instructions):
    pick = np.random.default_rng(count)
    values = pick.integers(-5, 60, count).astype(np.int32)
    values[pick.random(count) < 0.1] = np.iinfo(np.int32).max
    for low, width in ((0, 1), (0, 0), (10, 0), (10, 20), (0, 2**31), (59, 1), (2**31 - 1, 1)):
        found = _native.indices_within(values, low, width, instructions=instructions)
        inside = (values >= low) & (values.astype(np.int64) < low + width)
        assert found.tolist() == np.flatnonzero(inside).tolist()


@pytest.mark.parametrize("instructions", SETS)
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("features", [0, 1, 30, 3000])
def test_features_that_a_query_may_have(count, features, instructions):
    pick = np.random.default_rng([count, features])
    query = pick.integers(0, 2**31, features).astype(np.int32)
    halves = pick.integers(0, 2**16, count).astype(np.uint16)
    own = pick.random(count) < 0.3
    if features:
        halves[own] = pick.choice(query, own.sum()) & 0xFFFF
    likely = np.flatnonzero(np.isin(halves % 1024, query % 1024))
    kept, among = _native.feature_bloom(query, halves, instructions=instructions)
    assert (kept & 0xFFFF).tolist() == halves[likely].tolist()
    assert (kept >> 16).tolist() == likely.tolist()
    assert among == sum(1 << int(place) for place in likely if place < 64)


@pytest.mark.parametrize("wrong", [-1, 3])
def test_instructions_that_are_none_are_refused(wrong):
    with pytest.raises(ValueError, match="instructions must be from 0 to 2"):
        _native.indices_from(np.zeros(1, np.float32), 0.0, instructions=wrong)
