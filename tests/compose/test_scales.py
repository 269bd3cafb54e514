"""Scales of rows are those of exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from vizsla import _native


def scale_of(scores, how):
    scores = np.sort(np.asarray(scores, np.float32))[::-1].copy()
    offsets, items = np.array([0, len(scores)], np.int64), np.arange(len(scores), dtype=np.int32)
    return np.frombuffer(_native.normalise(offsets, items, scores, how, max(1, len(scores)), 1)[3], np.float64).tolist()


def drawn():
    pick = np.random.default_rng(0)
    yield from (pick.normal(size=count) * 10.0**power for count in (2, 7, 100, 1000) for power in (-30, -3, 0, 8, 30))
    yield from (20 + 1e-5 * pick.random(100), -np.exp(pick.normal(size=100) * 20), pick.integers(0, 3, 100))


def test_a_mean_and_a_spread_are_those_of_exact_arithmetic():
    for scores in drawn():
        exact = [Fraction(float(score)) for score in np.asarray(scores, np.float32)]
        mean = sum(exact) / len(exact)
        variance = sum((score - mean) ** 2 for score in exact) / len(exact)
        zero, one = scale_of(scores, "zscore")
        assert zero == pytest.approx(float(mean), rel=1e-12, abs=1e-15 * float(max(map(abs, exact))))
        assert one == pytest.approx(sqrt(variance), rel=1e-6)


@pytest.mark.parametrize("score", [0.0, -0.1, 1e-44, 3.4e38, -7.3])
def test_equals_keep_their_unit(score):
    given = float(np.float32(score))
    assert scale_of([score] * 100, "zscore") == [given, 1.0]
    assert scale_of([score] * 100, "minmax") == [given - 1, 1.0]


def test_nothing_found_gives_nothing():
    assert scale_of([], "zscore") == scale_of([], "minmax") == [0.0, np.inf]
