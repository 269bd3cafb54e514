"""The growing least-squares solution is the pseudo-inverse's."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla.methods.cur.least_squares import IncrementalLstsq

PICK = np.random.default_rng(5)


def _cases() -> dict[str, np.ndarray]:
    plain = PICK.normal(size=(30, 50))
    low = (PICK.integers(-3, 4, (30, 4)) @ PICK.integers(-3, 4, (4, 50))).astype(float)  # exact in float32
    twins = np.concatenate([plain[:, :10], plain[:, :10], np.ones((30, 5)), plain[:, 10:20]], axis=1)
    near = np.concatenate([plain[:, :5], plain[:, :5] + 1e-3 * PICK.normal(size=(30, 5))], axis=1)
    return {
        "fewer columns than rows": plain[:, :20],
        "more columns than rows": plain,
        "low rank": low,
        "twins and constants": twins,
        "near twins": near,
        "zeros": np.concatenate([np.zeros((30, 3)), plain[:, :4]], axis=1),
    }


@pytest.mark.parametrize("name", _cases())
@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_agrees_with_pinv_after_every_round(name, rounds):
    columns = _cases()[name].astype(np.float32)
    scores = PICK.normal(size=columns.shape[1]).astype(np.float32)
    if name == "near twins":  # scores that such columns can have: others would blow up in both
        scores = (PICK.normal(size=30) @ columns).astype(np.float32)
    everything = PICK.normal(size=(30, 200)).astype(np.float32)
    span, seen = IncrementalLstsq(30), 0
    for part in np.array_split(np.arange(columns.shape[1]), rounds):
        span.add(columns[:, part].T, scores[part])
        seen += len(part)
        # what counts as dependent is given to numpy
        inverse = np.linalg.pinv(columns[:, :seen].astype(np.float64), rcond=1e-6)
        expected = scores[:seen] @ inverse @ everything
        found = span.weights() @ everything
        assert np.abs(found - expected).max() <= 1e-4 * max(1, np.abs(expected).max())


def test_clearly_independent_columns_keep_the_basis_and_others_leave_it():
    plain = PICK.normal(size=(40, 30)).astype(np.float32)
    span = IncrementalLstsq(30)
    span.add(plain[:20], PICK.normal(size=20))
    span.weights()
    assert span.is_independent
    span.add(plain[:5], PICK.normal(size=5))
    span.weights()
    assert not span.is_independent


@pytest.mark.parametrize("decay", range(7))
@pytest.mark.parametrize("whole", [False, True])
def test_both_ways_agree_with_pinv_however_steep_the_spectrum(decay, whole):
    dim, count = 60, 50
    left, right = (np.linalg.qr(PICK.normal(size=(rows, dim)))[0] for rows in (dim, 300))
    scores_of_anchors = 50 * (left * np.logspace(0, -decay, dim)) @ right.T
    columns = scores_of_anchors[:, PICK.permutation(300)[:count]].T
    scores = columns @ PICK.normal(size=dim)
    span = IncrementalLstsq(dim)
    span.is_independent = not whole
    for part in np.array_split(np.arange(count), 5):
        span.add(columns[part], scores[part])
        seen = slice(0, part[-1] + 1)
        expected = np.linalg.pinv(columns[seen]) @ scores[seen] @ scores_of_anchors
        assert np.abs(span.weights() @ scores_of_anchors - expected).max() <= 1e-6 * np.abs(expected).max()


def test_a_column_that_is_short_beside_an_earlier_one_counts_as_rounding():
    span = IncrementalLstsq(2)
    for columns, scores in (([[1e9, 0.0]], [2e9]), ([[0.0, 1.0]], [5.0])):
        span.add(np.array(columns), np.array(scores))
        assert span.weights() == pytest.approx([2.0, 0.0])
