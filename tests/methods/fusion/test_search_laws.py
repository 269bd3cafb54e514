"""What is tried, and by which twin of the rules: grids, moves, lifts, spreads, and ranks of many rows at once."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.table_retriever import TableRetriever
from vizsla.learning.selection import Gain, Judge
from vizsla.methods.fusion.fit import _different, _gains, named_parts, numbered_as
from vizsla.methods.fusion.rules import ColdBoostRule, SignificanceRule, cross_fitted, is_loss, of_each_count
from vizsla.methods.fusion.scaling import LOG_SCALE, SCALING_NAMES, FusionTrial, alone, rules_of
from vizsla.methods.fusion.weight_search import (
    Search,
    _around_lifted,
    _may_add,
    grid,
    grid_shares,
    moves,
)


@pytest.mark.parametrize(("parts", "pieces"), [(2, 10), (3, 10), (4, 10), (5, 5), (6, 5), (7, 4), (8, 3), (12, 2)])
def test_a_grid_has_every_share_out_of_its_pieces_once(parts, pieces):
    """The fineness is the largest that keeps the grid at 300 points or below."""
    found = grid(parts)
    assert grid_shares(parts) == [round(count / pieces, 6) for count in range(pieces + 1)]
    exact = {tuple(round(weight * pieces, 3) for weight in weights) for weights in found}
    whole = {counts for counts in exact if all(count == round(count) for count in counts)}
    assert len(found) == len(exact) and len(exact - whole) <= 1
    assert all(sum(counts) == pytest.approx(pieces, abs=1e-2) for counts in exact)
    if parts <= 4:
        assert whole == {c for c in product(range(pieces + 1), repeat=parts) if sum(c) == pieces}
    assert (1 / parts,) * parts in found


@given(st.lists(st.integers(0, 10), min_size=2, max_size=4), st.sampled_from([0.05, 0.025, 0.1]))
def test_moves_shift_a_step_between_used_parts_and_empty_none(counts, step):
    weights = tuple(count / 10 for count in counts)
    found = list(moves(weights, step))
    wanted = set()
    for giver, taker in product(range(len(weights)), repeat=2):
        moved = [*weights]
        if giver != taker and weights[giver] > 0 < weights[taker] and weights[giver] - step > step / 10:
            moved[giver] = round(moved[giver] - step, 6)
            moved[taker] = round(moved[taker] + step, 6)
            wanted.add(tuple(moved))
    assert set(found) == wanted and len(found) == len(set(found))


def test_lifts_and_weights_are_moved_together():
    trial = FusionTrial("linear", (0.5, 0.5), 1.0)
    found = _around_lifted(trial, 0.1, 1.5)
    assert found[0] == trial and {one.lift for one in found} == {1.0, 1.5, 0.667}
    assert {one.weights for one in found} == {(0.5, 0.5), (0.4, 0.6), (0.6, 0.4)} and len(found) == 1 + 3 * 3


@pytest.mark.parametrize(
    ("how", "weights", "may"),
    [
        ("none", (0.5, 0.5, 0.0), True),  # one scale
        ("none", (0.5, 0.0, 0.5), False),
        ("minmax", (0.5, 0.0, 0.5), True),
        ("linear", (0.5, 0.5, 0.0), True),
        ("exp", (0.5, 0.5, 0.0), False),  # no logarithm: linear once more
        ("exp", (0.5, 0.0, 0.5), True),
        ("minmax", (1.0, 0.0, 0.0), False),  # one part is tried as it is
    ],
)
def test_only_sums_that_mean_something_are_tried(how, weights, may):
    assert _may_add(FusionTrial(how, weights), ["bm25", "bm25", LOG_SCALE]) == may


class Pool:
    """Quality by formula: highest at some weights, for each way to scale."""

    parts = 2

    def __init__(self):
        self.asked = []

    def measured(self, trial):
        self.asked.append(trial)
        best = {"linear": 0.53, "exp": 0.31}.get(trial.how, 0.2)
        quality = 0.9 - abs(trial.weights[0] - best) - 0.2 * abs(trial.lift - 0.7) * bool(trial.lift)
        noise = 0.01 * np.random.default_rng(0).normal(size=80)
        return np.full(80, quality) + noise


def searched(learners=None, scales=("bm25", LOG_SCALE)):
    pool, judge = Pool(), Judge.of_cold(np.arange(80) < 40, 0.5)
    singles = [pool.measured(alone(part, 2)) for part in range(2)]
    search = Search(pool, SignificanceRule.of(judge, singles), learners=learners)
    pool.asked.clear()
    return pool, search.run(list(scales))


def test_every_scale_is_climbed_to_where_no_neighbor_is_better_and_each_trial_is_measured_once():
    pool, found = searched()
    assert len(pool.asked) == len(set(pool.asked)) and {trial.how for trial in found} == set(SCALING_NAMES)
    for how, best in (("linear", 0.53), ("exp", 0.31), ("minmax", 0.2)):
        top = max((trial for trial in found if trial.how == how), key=lambda one: found[one].mean())
        assert abs(top.weights[0] - best) <= 0.0125 + 1e-9, how
        assert all(FusionTrial(how, weights) in found for weights in moves(top.weights, 0.025))
    assert not any(trial.lift for trial in found)  # no part learned from clicks


@pytest.mark.parametrize("learners", [[True, False], [False, True], [True, True]])
def test_sums_with_a_part_that_learned_are_lifted_by_rules_for_all_queries_alone(learners):
    _, found = searched(learners)
    lifted = [trial for trial in found if trial.lift]
    assert {trial.how for trial in lifted} == {"linear", "exp"} and {0.25, 0.5, 1.0, 2.0} <= {
        trial.lift for trial in lifted
    }
    assert all(len(trial.used) == 2 for trial in lifted)
    assert min(abs(trial.lift - 0.7) for trial in lifted) < 0.05


def test_what_was_measured_before_is_not_measured_again():
    pool, found = searched()
    judge = Judge.of_cold(np.arange(80) < 40, 0.5)
    pool.asked.clear()
    given = dict(found)
    again = Search(pool, SignificanceRule.of(judge, [found[alone(n, 2)] for n in range(2)]), measured=given)
    assert again.run(["bm25", LOG_SCALE]).keys() == found.keys() and not pool.asked
    again.measured.clear()
    assert given.keys() == found.keys()  # what is given is the caller's


KINDS = np.array(["cold"] * 35 + ["warm"] * 20 + ["repeated"] * 45)


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.sampled_from([("warm", "cold"), ("repeated", "warm", "cold"), ("cold",)]))
def test_many_rows_are_ranked_as_each_is_alone(seed, kinds):
    rng = np.random.default_rng(seed)
    judge = Judge(rng.permutation(KINDS), {"repeated": 0.3, "warm": 0.3, "cold": 0.4})
    singles = list(rng.random((3, 100)))
    rows = np.vstack([singles, singles[0] + 0.05 * rng.normal(size=(4, 100)), singles[1] - 0.01])
    rule = SignificanceRule.of(judge, singles, kinds=kinds)
    for kind in kinds:
        assert judge.quality(rule.best[kind], kind) == max(judge.quality(one, kind) for one in singles)
    for row, (lost, quality) in zip(rows, rule.ranks(rows), strict=True):
        behind = [kind for kind in kinds if is_loss(judge.gain(row, rule.best[kind], kind))]
        assert (lost, quality) == pytest.approx((-len(behind), judge.quality(row))) and [*rule.losses(row)] == behind
        assert rule.rank(row) == pytest.approx((lost, quality))
    level = rows[4]
    boost = ColdBoostRule.of(judge, singles, level)
    assert judge.quality(boost.part) == max(map(judge.quality, singles))
    for row, found in zip(rows, boost.ranks(rows), strict=True):
        harms, gains = [0.0], []
        for kind in ("warm", "cold"):
            best = boost.significance.best[kind]
            gain = judge.quality(row, kind) - judge.quality(best, kind)
            gains.append(gain)
            harms.append(gain - min(0.0, judge.quality(level, kind) - judge.quality(best, kind)))
        assert found == pytest.approx((min(harms), min(gains))) and boost.rank(row) == pytest.approx(found)


@pytest.mark.parametrize(
    ("other", "stands", "mean", "replaces"),
    [(0, 0, 0.1, True), (0, 0, 0.0, False), (0, 1, 0.0, True), (0, 1, -0.01, False), (1, 0, 0.1, False)],
)
def test_fewer_losses_replace_if_no_worse_and_as_many_only_if_surely_better(other, stands, mean, replaces, monkeypatch):
    judge = Judge.of_cold(np.arange(80) < 40, 0.5)
    rule = SignificanceRule(judge, {})
    one, two = np.zeros(80), np.ones(80)
    monkeypatch.setattr(rule.__class__, "losses", lambda _, row: dict.fromkeys(range(other if row is one else stands)))
    monkeypatch.setattr(judge.__class__, "gain", lambda *_: Gain(mean, 0.01, 80))
    assert rule.replaces(one, two) == replaces


def test_trials_come_by_the_number_of_their_parts():
    tried = [FusionTrial("exp", (0.2, 0.3, 0.5)), FusionTrial("none", (1.0, 0, 0)), FusionTrial("exp", (0.5, 0.5, 0)),
             FusionTrial("exp", (0.5, 0.5, 0), 1.0), FusionTrial("none", (0, 0, 1.0))]  # fmt: skip
    assert of_each_count(tried, lifted=False) == [[1, 4], [2], [0]] and of_each_count(tried, lifted=True) == [[3]]


def test_each_query_is_judged_by_what_the_other_rounds_select():
    rng = np.random.default_rng(3)
    judge = Judge.of_cold(np.arange(100) < 50, 0.5)
    trials = [alone(0, 2), alone(1, 2), FusionTrial("linear", (0.5, 0.5))]
    measured = np.vstack([rng.random((2, 100)), np.full(100, 0.95)])
    assert (cross_fitted(judge, trials, measured, ("warm", "cold")) == measured[2]).all()
    measured[2] = 0.0
    found = cross_fitted(judge, trials, measured, ("warm", "cold"))
    assert ((found == measured[0]) | (found == measured[1])).all()


@pytest.mark.parametrize("scale", ["bm25", LOG_SCALE])
def test_lists_have_a_spread_of_1_on_the_mean_query_under_each_rule(scale):
    table = {"a": {"x": 1.0, "y": 5.0}, "b": {"x": -2.0, "y": 0.0, "z": 7.0}, "c": {"z": 3.0}, "d": {}}
    part = TableRetriever(table, ["x", "y", "z"], scale=scale)
    found = part(list(table), 3)
    rules = rules_of(part, found)
    assert set(rules) == {"linear", "exp"} and rules["linear"].how == "linear"
    assert (rules["exp"].how == "exp") == (scale == LOG_SCALE)
    for rule in rules.values():
        scaled = rule.of(part)(list(table), 3)
        spreads = [scaled.row(row)[1].astype(np.float64).std() for row in (0, 1)]  # lists of more than one item
        assert np.mean(spreads) == pytest.approx(1.0, rel=1e-4)
    if scale == LOG_SCALE:
        assert rules["exp"].slope == pytest.approx(0.25 * rules["linear"].slope, rel=1e-5)
    flat = TableRetriever({"a": {"x": 1.0, "y": 1.0}}, ["x", "y"])
    assert rules_of(flat, flat(["a"], 2))["linear"].slope == 1.0


def test_parts_that_are_called_alike_get_their_number():
    one, two = TableRetriever({}, ["x"], scale="same"), TableRetriever({}, ["x"], scale="other")
    assert named_parts([one, two, one])[0] == ["same #1", "other", "same #3"] == _different(["same", "other", "same"])
    names, parts = named_parts({"b": one, "a": two})
    assert names == ["b", "a"] and parts == [one, two]


def test_clicks_are_renumbered_to_the_parts_items():
    from scipy.sparse import csr_array

    from vizsla.core.strings import Strings
    from vizsla.errors import InputError

    wanted = csr_array(np.array([[1, 0, 2], [0, 3, 0]], np.float32))
    found = numbered_as(wanted, Strings.of(["x", "y", "z"]), Strings.of(["z", "w", "x", "y"]))
    assert found.toarray().tolist() == [[2, 0, 1, 0], [0, 0, 0, 3]]
    with pytest.raises(InputError, match="item of the parts. Got 'y'"):
        numbered_as(wanted, Strings.of(["x", "y", "z"]), Strings.of(["z", "x"]))


def test_the_report_has_the_gain_over_each_part_on_each_kind():
    judge = Judge.of_cold(np.arange(80) < 40, 0.25)
    rng = np.random.default_rng(5)
    tried = {alone(at, 2): rng.random(80) for at in range(2)}
    values = rng.random(80)
    rows = _gains(["one", "two"], tried, values, judge)
    assert [(row["part"], row["queries"]) for row in rows] == [
        (name, kind) for name in ("one", "two") for kind in ("all", "warm", "cold")
    ]
    for row, (at, kind) in zip(rows, product(range(2), ("all", "warm", "cold")), strict=True):
        gain = judge.gain(values, tried[alone(at, 2)], kind)
        assert (row["gain"], row["error"], row["p"]) == (gain.mean, gain.error, gain.p)
