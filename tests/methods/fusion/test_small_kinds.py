"""A common kind of query of which few or none were held out does not pay for the gain of another."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla.learning.query_mix import Mix
from vizsla.learning.selection import Judge
from vizsla.methods.fusion.rules import SignificanceRule, describe_rules, is_sound, select
from vizsla.methods.fusion.scaling import FusionTrial, alone

TRIALS = [alone(0, 2), alone(1, 2), FusionTrial("minmax", (0.5, 0.5))]


def judged(cold: int, share: float) -> Judge:
    return Judge(np.array(["cold"] * cold + ["warm"] * 300), {"warm": 1 - share, "cold": share})


def measured(judge: Judge, cold_gain: float) -> list[np.ndarray]:
    part = np.full(len(judge.kinds), 0.5)
    wiggle = np.where(np.arange(len(part)) % 2 == 0, 0.01, -0.01)
    total = part + np.where(judge.cold, cold_gain, 0.1) + wiggle
    return [part, part - 0.3, total]


@pytest.mark.parametrize(("cold", "gain"), [(29, -0.2), (30, -0.2), (29, -0.01), (1, -0.2)])
def test_a_sum_that_loses_on_a_common_kind_is_refused_however_few_show_it(cold, gain):
    judge = judged(cold, 0.12)
    values = measured(judge, gain)
    assert not is_sound(judge, values[2], values[0])
    assert select(judge, TRIALS, values).best == 0
    rule = SignificanceRule.of(judge, values[:2])
    assert list(rule.losses(values[2])) == ["cold"]
    assert [lost for lost, _ in rule.ranks(np.asarray(values))] == [rule.rank(each)[0] for each in values]


@pytest.mark.parametrize("cold", [29, 30])
def test_a_sum_that_loses_on_none_is_taken(cold):
    judge = judged(cold, 0.12)
    assert select(judge, TRIALS, measured(judge, 0.02)).best == 2


def test_a_rare_kind_may_lose():
    judge = judged(20, 0.05)
    assert select(judge, TRIALS, measured(judge, -0.2)).best == 2


def test_a_common_kind_that_was_not_held_out_leaves_the_best_part_and_is_named():
    judge = judged(0, 0.6)
    values = measured(judge, 0.0)
    selected = select(judge, TRIALS, values)
    assert selected.best == 0
    said = describe_rules(["words", "learned"], TRIALS, values, selected, mix=Mix(0.0, 0.4, 0.6))
    assert "no cold queries could be held out" in said
