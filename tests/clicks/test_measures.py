"""Measures of held-out clicks against what their definitions say, written query by query."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from vizsla.candidates import Candidates
from vizsla.clicks.evidence import surely_best
from vizsla.clicks.measures import ndcgs, recalls


def answers(pick, queries, items, most):
    """Random rankings of random lengths, some of them empty."""
    rows = [pick.permutation(items)[: pick.integers(0, most + 1)] for _ in range(queries)]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    scores = np.concatenate([-np.arange(len(row), dtype=np.float32) for row in rows])
    return rows, Candidates(offsets, np.concatenate(rows).astype(np.int32), scores)


def test_measures_are_their_definitions():
    pick = np.random.default_rng(0)
    weights = pick.integers(1, 1000, (60, 12)) * (pick.random((60, 12)) < 0.3)
    weights[:, 3] += weights.sum(axis=1) == 0
    rows, found = answers(pick, 60, 12, 9)
    depth = 4
    for row, gains, recall, ndcg in zip(
        rows, weights, recalls(found, csr_array(weights)), ndcgs(found, csr_array(weights), depth=depth), strict=True
    ):
        assert recall == pytest.approx(sum(gains[item] > 0 for item in row) / (gains > 0).sum())
        reached, ideal = gains[row], sorted(gains, reverse=True)
        discounted = [sum(gain / np.log2(rank + 2) for rank, gain in enumerate(g[:depth])) for g in (reached, ideal)]
        assert ndcg == pytest.approx(discounted[0] / discounted[1])


def test_ndcg_is_that_of_ir_measures():
    ir_measures = pytest.importorskip("ir_measures")
    pick = np.random.default_rng(1)
    weights = pick.integers(0, 9, (20, 8))
    weights[:, 0] += 1
    _, found = answers(pick, 20, 8, 8)
    judged = {str(q): {str(i): int(w) for i, w in enumerate(row) if w} for q, row in enumerate(weights)}
    pairs = [found.row(q) for q in range(20)]
    run = {str(q): {str(i): float(s) for i, s in zip(*pair, strict=True)} for q, pair in enumerate(pairs)}
    theirs = ir_measures.iter_calc([ir_measures.nDCG(dcg="log2") @ 5], judged, run)
    by_query = {metric.query_id: metric.value for metric in theirs}
    assert ndcgs(found, csr_array(weights), depth=5) == pytest.approx([by_query.get(str(q), 0.0) for q in range(20)])


def test_only_a_sure_gain_counts():
    """Three standard errors: 0.1 ± 0.3 over n queries is sure from n = 81 on."""
    gain = np.array([1.0] + [0.0] * 9)  # mean 0.1, deviation 0.3
    for times, best in ((8, 0), (9, 1)):
        gains = np.tile(gain, times)
        assert surely_best(np.stack([np.zeros_like(gains), gains])) == best
    better, best_of_all = np.tile(gain, 20), np.tile(gain, 20) + 0.05
    assert surely_best(np.stack([np.zeros_like(better), better, best_of_all, -better])) == 2
