"""Measures of held-out clicks against what their definitions say, written query by query."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from vizsla.core.candidates import Candidates
from vizsla.learning.measures import ndcgs, recalls, reciprocal_ranks
from vizsla.learning.selection import Choice, choose, harmless, surely_better


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


def test_reciprocal_ranks_are_their_definition_with_ties_counted_against():
    pick = np.random.default_rng(2)
    sizes = pick.integers(0, 20, 200)  # some rows are empty
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    scores, relevant = pick.integers(0, 8, offsets[-1]).astype(np.float32), pick.random(offsets[-1]) < 0.15
    found = reciprocal_ranks(offsets, scores, relevant, depth=5)
    for row in range(200):
        at = slice(offsets[row], offsets[row + 1])
        ranked = sorted(zip(scores[at], relevant[at], strict=True), key=lambda pair: (-pair[0], pair[1]))
        rank = next((place for place, (_, wanted) in enumerate(ranked, 1) if wanted), 99)
        assert found[row] == (1 / rank if rank <= 5 else 0)
    assert reciprocal_ranks(np.zeros(3, np.int64), np.zeros(0), np.zeros(0, np.bool_)).tolist() == [0, 0]


def test_a_choice_measures_warm_and_cold_queries_apart_and_harms_neither():
    cold = np.array([True, False, False, False])
    base, lopsided, fair = np.array([0.5, 0.5, 0.5, 0.5]), np.array([0, 1, 1, 1]), np.array([0.5, 0.5, 0.5, 1])
    trials = [{"weight": weight} for weight in (1.0, 0.1, 0.5)]
    choice = choose(trials, [base, lopsided, fair], cold, measure="MRR@10", rule=harmless(0))
    assert (choice.best, choice.cold, choice.warm) == (2, 1, 3)
    assert choice.trials[1] == {"weight": 0.1, "all": 0.75, "warm": 1.0, "cold": 0.0}
    assert choose(trials, [base, lopsided, fair], cold, measure="MRR@10", rule=harmless()).best == 1
    assert Choice.of(choice.to_dict()) == choice


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
        assert surely_better()([], np.stack([np.zeros_like(gains), gains])) == best
    better, best_of_all = np.tile(gain, 20), np.tile(gain, 20) + 0.05
    assert surely_better()([], np.stack([np.zeros_like(better), better, best_of_all, -better])) == 2
