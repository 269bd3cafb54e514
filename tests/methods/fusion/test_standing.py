"""Which trial stands, by hand."""

from __future__ import annotations

import numpy as np

from vizsla.learning.query_mix import Mix
from vizsla.learning.selection import Judge
from vizsla.methods.fusion.rules import SignificanceRule, describe_rules, select
from vizsla.methods.fusion.scaling import FusionTrial, alone

COLD = np.arange(200) < 100
SINGLES = [alone(0, 2), alone(1, 2)]
SUM = FusionTrial("minmax", (0.5, 0.5))


def values(cold: float, warm: float) -> np.ndarray:
    """Return qualities with these means and some spread."""
    return np.where(COLD, cold, warm) + np.tile([-0.05, 0.05], 100)


def chosen(*measured: np.ndarray) -> FusionTrial:
    trials = [*SINGLES, SUM]
    standing = SignificanceRule.of(Judge.of_cold(COLD, 0.5), measured[:2])
    return trials[standing.chosen(trials, measured)]


def test_a_sum_that_is_surely_better_on_both_kinds_stands():
    assert chosen(values(0.4, 0.4), values(0.3, 0.3), values(0.5, 0.5)) == SUM


def test_a_gain_that_may_be_chance_leaves_the_best_part():
    sometimes = values(0.4, 0.4)
    sometimes[[0, 150]] += 0.3
    assert chosen(values(0.4, 0.4), values(0.3, 0.3), sometimes) == SINGLES[0]


def test_a_sum_that_cold_queries_pay_for_does_not_stand():
    lost = values(0.3, 0.9)
    lost[COLD] -= np.tile([0.0, 0.02], 50)
    assert chosen(values(0.4, 0.4), values(0.2, 0.2), lost) == SINGLES[0]


def test_a_sum_that_loses_to_neither_stands_where_every_part_loses_somewhere():
    """One part is best on cold queries and the other on warm ones: only together they are as good as both."""
    both = values(0.6, 0.6)
    assert chosen(values(0.6, 0.1), values(0.1, 0.6), both) == SUM


def test_too_few_queries_prove_nothing():
    few = np.arange(20) < 10
    measured = [np.zeros(20), np.zeros(20), np.ones(20)]
    standing = SignificanceRule.of(Judge.of_cold(few, 0.5), measured[:2])
    assert [*SINGLES, SUM][standing.chosen([*SINGLES, SUM], measured)] == SINGLES[0]


def said(cold: np.ndarray, measured: list[np.ndarray], share: float = 0.5) -> str:
    trials = [*SINGLES, SUM][: len(measured)]
    selected = select(Judge.of_cold(cold, share), trials, measured)
    return describe_rules(["words", "tree"], trials, measured, selected, mix=Mix(0.0, 1 - share, share))


def test_what_is_said_tells_a_loss_on_one_kind():
    """A part that knows only what was clicked: the best on average loses on one kind, and says so."""
    measured = [values(0.4, 0.2), values(0.0, 0.9), values(0.35, 0.9)]
    measured[2][COLD] += np.tile([0.0, 0.02], 50)
    assert "0.5 words + 0.5 tree by minmax: nDCG@10 0.630" in said(COLD, measured)
    assert "On cold queries it has -0.040 ± 0.001" in said(COLD, measured)
    measured[2][COLD] += 0.1
    assert "On cold" not in said(COLD, measured)


def test_what_is_said_counts_only_what_was_held_out():
    nobody, measured = np.zeros(40, np.bool_), [np.full(40, 0.5), np.zeros(40)]
    counted = "on 40 held-out queries (0.500 warm, none cold; expected are 100 % warm)."
    assert counted in said(nobody, measured, share=0.0)
    assert "nothing is sure" not in said(nobody, measured, share=0.0)
    assert said(nobody[:9], [each[:9] for each in measured]).endswith("Below 30 queries nothing is sure.")
