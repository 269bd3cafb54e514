"""Scales of rows are those of exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from math import frexp, inf, ldexp, sqrt

import numpy as np
import pytest

from vizsla import _native
from vizsla.errors import InputError


def scale_of(scores, how):
    return scale_as_given(np.sort(np.asarray(scores, np.float32))[::-1].copy(), how)


def scale_as_given(scores, how):
    offsets, items = np.array([0, len(scores)], np.int64), np.arange(len(scores), dtype=np.int32)
    return np.frombuffer(_native.normalize(offsets, items, scores, how, max(1, len(scores)), 1)[3], np.float64).tolist()


def drawn():
    pick = np.random.default_rng(0)
    yield from (pick.normal(size=count) * 10.0**power for count in (2, 7, 100, 1000) for power in (-30, -3, 0, 8, 30))
    yield from (20 + 1e-5 * pick.random(100), -np.exp(pick.normal(size=100) * 20), pick.integers(0, 3, 100))
    # Squares are added in other steps between 16 and 255 scores; the largest of them leave no bit to spare.
    largest = np.nextafter(np.float32(2), np.float32(0))
    for count in (15, 16, 17, 31, 127, 128, 255, 256):
        yield from (pick.normal(size=count), np.where(np.arange(count), largest, 0), -1 - pick.random(count))
        yield np.where(np.arange(count) % 2, largest, -largest)


def test_a_mean_and_a_spread_are_those_of_exact_arithmetic():
    for scores in drawn():
        exact = [Fraction(float(score)) for score in np.asarray(scores, np.float32)]
        mean = sum(exact) / len(exact)
        variance = sum((score - mean) ** 2 for score in exact) / len(exact)
        zero, one = scale_of(scores, "zscore")
        assert zero == pytest.approx(float(mean), rel=1e-12, abs=1e-15 * float(max(map(abs, exact))))
        assert one == pytest.approx(sqrt(variance), rel=1e-6)


def zscore_twin(scores):
    """Whole numbers of a unit, added up exactly; what is rounded is rounded once."""
    scores = [float(score) for score in np.asarray(scores, np.float32)]
    count = len(scores)
    shift = 62 - count.bit_length() - frexp(max(map(abs, scores)))[1]
    units = [int(ldexp(score, shift)) for score in scores]
    spread = count * sum(unit * unit for unit in units) - sum(units) ** 2
    one = sqrt(float(spread)) / count * ldexp(1.0, -shift)
    return [float(sum(units)) / count * ldexp(1.0, -shift), one if one > 0 else 1.0]


def test_zscores_are_those_of_whole_numbers_to_the_last_bit():
    for scores in drawn():
        assert scale_of(scores, "zscore") == zscore_twin(scores)


def test_a_mean_and_a_spread_do_not_depend_on_the_order():
    pick = np.random.default_rng(1)
    for scores in drawn():
        scores = np.asarray(scores, np.float32)
        expected = scale_as_given(scores, "zscore")
        for _ in range(5):
            assert scale_as_given(pick.permutation(scores), "zscore") == expected


@pytest.mark.parametrize("scores", [[inf, 1, 2], [1, 2, -inf], [inf, 1, -inf]])
def test_infinite_scores_have_no_mean_to_measure_from(scores):
    with pytest.raises(InputError, match="NaN"):
        scale_of(scores, "zscore")


@pytest.mark.parametrize("score", [0.0, -0.1, 1e-44, 3.4e38, -7.3])
def test_equals_keep_their_unit(score):
    given = float(np.float32(score))
    assert scale_of([score] * 100, "zscore") == [given, 1.0]
    assert scale_of([score] * 100, "minmax") == [given - 1, 1.0]


def test_nothing_found_gives_nothing():
    assert scale_of([], "zscore") == scale_of([], "minmax") == [0.0, np.inf]
