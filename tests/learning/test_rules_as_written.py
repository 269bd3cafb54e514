"""Every rule of the selection kit against what its docstring says, written out, on drawn qualities with equal ones."""

from __future__ import annotations

from math import erfc, inf, sqrt

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vizsla.learning.selection import (
    COLD_LOSS_ERRORS,
    COMMON_SHARE,
    EQUAL_DIGITS,
    MIN_QUERIES,
    QUERY_KINDS,
    SURE_ERRORS,
    Gain,
    Judge,
    balanced,
    choose,
    harmless,
    harmless_to_cold,
    highest,
    qualities_of,
    surely_better,
)

KINDS = st.lists(st.sampled_from(QUERY_KINDS), min_size=1, max_size=80)
ROWS = st.integers(1, 5)
SHARES = st.lists(st.sampled_from([0.0, 0.05, 0.1, 0.3, 0.5]), min_size=3, max_size=3)


def drawn(seed, rows, count):
    """Return qualities in steps of a quarter, so that many are equal."""
    return np.random.default_rng(seed).integers(0, 5, (rows, count)) / 4


@given(KINDS, SHARES, st.integers(0, 10**6))
def test_a_judge_weighs_kinds_by_their_share_and_not_by_how_many_were_held_out(kinds, shares, seed):
    given_shares = dict(zip(QUERY_KINDS, shares, strict=True))
    judge, names = Judge(np.array(kinds), given_shares), np.array(kinds)
    present = [kind for kind in QUERY_KINDS if kind in kinds]
    total = sum(given_shares[kind] for kind in present)
    weights = {kind: given_shares[kind] / total if total else 1 / len(present) for kind in present}
    assert judge.weights == pytest.approx(weights) and judge.counts == {kind: kinds.count(kind) for kind in QUERY_KINDS}
    assert judge.common == tuple(kind for kind in QUERY_KINDS if given_shares[kind] >= COMMON_SHARE)
    one, other = drawn(seed, 2, len(kinds))
    gaps = {kind: (one - other)[names == kind] for kind in present}
    variances = {kind: gap.var(ddof=1) / len(gap) if len(gap) > 1 else 0.0 for kind, gap in gaps.items()}
    found = judge.gain(one, other)
    assert found.mean == pytest.approx(sum(weights[kind] * gaps[kind].mean() for kind in present), abs=1e-12)
    assert found.error == pytest.approx(sqrt(sum(weights[kind] ** 2 * variances[kind] for kind in present)), abs=1e-12)
    assert found.queries == len(kinds) and judge.quality(one) - judge.quality(other) == pytest.approx(found.mean)
    for kind in QUERY_KINDS:
        own = judge.gain(one, other, kind)
        assert own.queries == kinds.count(kind)
        assert own.mean == pytest.approx(gaps[kind].mean() if kind in gaps else 0.0)
        assert own.error == pytest.approx(sqrt(variances.get(kind, 0.0)))
        assert judge.errors(np.stack([one, other]), other, kind).tolist() == pytest.approx([own.errors, 0.0])
    kept = np.arange(len(kinds)) % 2 == 0
    assert judge.only(kept).gain(one[kept], other[kept]) == Judge(names[kept], given_shares).gain(
        one[kept], other[kept]
    )
    told = qualities_of(one, judge)
    assert list(told) == list(judge.reported) and all(told[kind] == judge.quality(one, kind) for kind in told)


@pytest.mark.parametrize("queries", [MIN_QUERIES - 1, MIN_QUERIES])
def test_few_queries_say_nothing(queries):
    enough = queries == MIN_QUERIES
    assert Gain(0.2, 0.1, queries).errors == (2.0 if enough else 0.0)
    assert Gain(-0.2, 0.0, queries).errors == (-inf if enough else 0.0) and Gain(0.0, 0.0, queries).errors == 0.0
    assert Gain(0.2, 0.1, queries).p == pytest.approx(erfc(sqrt(2)) if enough else 1.0)
    assert Gain(0.2, 0.1, queries).reversed == Gain(-0.2, 0.1, queries)
    judge, values = Judge.of_cold(np.zeros(queries, bool), 0.0), np.tile([0.0, 1.0], queries)[:queries]
    assert (judge.errors(values[None] + 1, values)[0] == inf) == enough


TABLES = st.integers(1, 5).flatmap(
    lambda rows: st.lists(
        st.fixed_dictionaries(dict.fromkeys(("all", "warm", "cold"), st.integers(0, 3).map(float))),
        min_size=rows,
        max_size=rows,
    )
)


@given(TABLES, st.data())
@example([{"all": 1.0, "warm": 1.0, "cold": 1.0}, {"all": 2.0, "warm": 3.0, "cold": 1.0}], None)
def test_the_harmless_rule(trials, data):
    base = 0 if data is None else data.draw(st.one_of(st.none(), st.integers(0, len(trials) - 1)))
    sound = [
        at
        for at, trial in enumerate(trials)
        if base is None or all(trial[kind] >= trials[base][kind] for kind in ("warm", "cold"))
    ]
    best = max(trials[at]["all"] for at in sound)
    assert harmless(base)(trials, np.zeros((len(trials), 0))) == next(at for at in sound if trials[at]["all"] == best)


@given(TABLES, st.integers(0, 3), st.sampled_from([("warm", "cold"), ("warm",), ("cold",)]))
def test_the_balanced_rule(trials, level, sides):
    against = {side: level + (0.5 if side == "cold" else 0.0) for side in sides}
    worst = [min(trial[side] - against[side] for side in sides) for trial in trials]
    assert balanced(against)(trials, np.zeros((len(trials), 0))) == worst.index(max(worst))


@given(ROWS, st.integers(1, 12), st.integers(0, 10**6), st.sampled_from([SURE_ERRORS, 0.0, 1.0]), st.booleans())
def test_the_surely_better_rule(rows, count, seed, errors, top_only):
    values = drawn(seed, rows, count)
    gains = values - values[0]
    sure = [gap.mean() > errors * gap.std() / sqrt(count) for gap in gains]
    if top_only:
        means = values.mean(axis=1).tolist()
        top = means.index(max(means))
        wanted = top if sure[top] else 0
    else:
        means = [gap.mean() if is_sure else 0.0 for gap, is_sure in zip(gains, sure, strict=True)]
        wanted = means.index(max(means))
    assert surely_better(errors, top_only=top_only)([], values) == wanted


@given(ROWS, st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from([20, 29, 30, 40]))
def test_the_rule_that_spares_cold_queries(rows, seed, share, colds):
    judge = Judge.of_cold(np.arange(60) < colds, share)
    values = drawn(seed, rows, 60)
    means = [row[judge.cold].mean() for row in values]
    top, kept = values[means.index(max(means))], []
    for at, row in enumerate(values):
        gap = (row - top)[judge.cold]
        error = gap.std(ddof=1) / sqrt(colds)
        if colds < MIN_QUERIES or gap.mean() == 0 or (error > 0 and gap.mean() / error > -COLD_LOSS_ERRORS):
            kept.append(at)
    best = max(judge.quality(values[at]) for at in kept)
    wanted = next(at for at in kept if judge.quality(values[at]) == best)
    assert harmless_to_cold(judge)([], values) == wanted


@given(ROWS, st.integers(0, 10**6), st.one_of(st.none(), st.lists(st.integers(0, 2), min_size=5, max_size=5)))
def test_the_rule_of_the_highest(rows, seed, preference):
    values = drawn(seed, rows, 3)
    totals = [round(float(row.sum()), EQUAL_DIGITS) for row in values]
    ranked = sorted(range(rows), key=lambda at: (-totals[at], 0 if preference is None else -preference[at], at))
    assert highest(preference)([], values) == ranked[0]
    nearly = values + np.arange(rows)[:, None] * 10.0 ** -(EQUAL_DIGITS + 2)
    assert highest(preference)([], nearly) == ranked[0], "what is only rounding is equal"


@given(st.integers(1, 4), st.integers(1, 9), st.integers(0, 10**6))
def test_a_choice_has_the_means_of_every_trial(rows, count, seed):
    values, cold = drawn(seed, rows, count), np.random.default_rng(seed).random(count) < 0.5
    trials = [{"x": at} for at in range(rows)]
    made = choose(trials, list(values), cold, measure="m", rule=highest())
    for at, trial in enumerate(made.trials):
        wanted = {"x": at, "all": values[at].mean(), "warm": 0.0, "cold": 0.0}
        wanted |= {"warm": values[at][~cold].mean()} if (~cold).any() else {}
        wanted |= {"cold": values[at][cold].mean()} if cold.any() else {}
        assert trial == pytest.approx(wanted)
    assert (made.cold, made.warm, made.chosen["x"]) == (cold.sum(), (~cold).sum(), made.best)
    whole = choose(trials, list(values), measure="m", rule=highest())
    assert all(trial["warm"] == trial["all"] and trial["cold"] == 0.0 for trial in whole.trials)
