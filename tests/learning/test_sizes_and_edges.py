"""How much is held out, by which seeds, and what the rules of choice do exactly at their edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from vizsla import Dataset
from vizsla.errors import InputError
from vizsla.learning import query_mix, recency, splits
from vizsla.learning.clicks import ClickLog
from vizsla.learning.data import Positives
from vizsla.learning.loop import TrainingLoop
from vizsla.learning.negatives import SyntheticQueries
from vizsla.learning.query_mix import Mix, predicted_mix
from vizsla.learning.selection import (
    Choice,
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
from vizsla.learning.splits import (
    HoldoutSize,
    cold_warm_counts,
    draw_sample,
    item_folds,
    log_splits,
    possible_split,
    split_by_time,
    split_dataset,
    stratified_folds,
    table_split,
    table_splits,
)


def plain_log(queries, items=None):
    """Return clicks of which every item has three queries, each with one click."""
    count = items or -(-queries // 3)
    return csr_array((np.ones(queries, np.float32), (np.arange(queries), np.arange(queries) % count)))


@pytest.mark.parametrize(("queries", "held"), [(20, 2), (25, 2), (26, 3), (100, 10), (20_000, 2000), (90_000, 2000)])
def test_a_table_is_judged_by_a_tenth_of_the_queries_up_to_2000(queries, held, monkeypatch):
    asked = []
    monkeypatch.setattr(splits, "possible_split", lambda clicks, **named: asked.append(named))
    table_split(csr_array((queries, 3)), 7)
    assert asked == [{"queries": held, "cold": 0.5, "seed": 7}]
    assert table_split(csr_array((19, 3)), 7) is None and len(asked) == 1


def test_few_clicks_are_split_again_by_the_next_seed_until_400_queries_were_held_out():
    small, large = plain_log(60), plain_log(1500)
    found = table_splits(small, 3)
    assert [one.rows.tolist() for one in found] == [table_split(small, 3 + n).rows.tolist() for n in range(5)]
    assert [len(one.rows) for one in table_splits(large, 3)] == [150, 150, 150]
    assert table_splits(plain_log(19), 3) == []


@pytest.mark.parametrize(("count", "held"), [(5, 1), (12, 2), (13, 3), (100, 20)])
def test_a_log_is_split_three_times_by_three_seeds(count, held):
    log = ClickLog.of([(f"query {n}", str(n % 4)) for n in range(count)], Dataset.of(list("abcd")).items.ids)
    found = list(log_splits(log, cold=0.0, seed=5))
    for number, one in enumerate(found):
        wanted = possible_split(log.matrix, queries=held, cold=0.0, seed=5 + number)
        assert one.held.tolist() == wanted.rows.tolist() and len(one.held) == held and one.cold == len(wanted.cold)
        assert not {log.texts[row] for row in one.held} & set(one.train.texts)
    assert len(found) == 3
    with pytest.raises(InputError, match="at least 5"):
        next(log_splits(ClickLog.of([("a", "0")] * 9, Dataset.of(list("a")).items.ids), cold=0.0, seed=0))


def test_sizes_are_rounded_shares_up_to_the_most():
    size = HoldoutSize(0.2, 4000, 5)
    assert [size.of(queries) for queries in (5, 12, 13, 19_999, 20_000, 20_005, 90_000)] == [
        1, 2, 3, 4000, 4000, 4000, 4000,
    ]  # fmt: skip


@given(st.integers(2, 5), st.integers(0, 99), st.integers(0, 99))
def test_queries_with_the_same_first_item_share_a_fold_and_silent_ones_are_spread(folds, seed, more):
    rng = np.random.default_rng(more)
    full = (rng.random((40, 6)) < 0.2).astype(np.float32)
    clicks = csr_array(full)
    found = item_folds(clicks, folds, seed)
    firsts = {row: int(np.flatnonzero(full[row])[0]) for row in range(40) if full[row].any()}
    by_item = {}
    for row, item in firsts.items():
        assert by_item.setdefault(item, found[row]) == found[row]
    assert [found[row] for row in range(40) if row not in firsts] == [
        row % folds for row in range(40) if row not in firsts
    ]
    assert set(found.tolist()) <= set(range(folds)) and (item_folds(clicks, folds, seed) == found).all()


@given(st.lists(st.sampled_from(["cold", "warm", "repeated"]), max_size=30), st.integers(1, 5))
def test_folds_have_as_many_of_each_kind(kinds, folds):
    found = stratified_folds(np.array(kinds, dtype=np.str_), folds)
    for kind in set(kinds):
        counts = np.bincount(found[np.array(kinds) == kind], minlength=folds)
        assert counts.max() - counts.min() <= 1 and len(counts) == folds


@pytest.mark.parametrize(
    ("queries", "share", "held"), [(10, 0.1, 1), (10, 0.16, 2), (10, 0.999, 9), (3, 0.01, 1), (2, 0.5, 1)]
)
def test_at_least_one_query_is_held_out_and_one_is_left(queries, share, held):
    clicks = [(f"q{n}", "0") for n in range(queries)]
    train, test = split_dataset(Dataset.of(["fig"], clicks=clicks), held_out=share, cold=0.0, seed=1)
    assert len(test.query_texts("test")[0]) == held and train.clicks.nnz == queries - held


def test_held_out_judgments_keep_their_grades_and_held_out_clicks_count_1():
    texts = {str(n): f"q{n}" for n in range(9)}
    graded = {str(n): {"0": 3, "1": 2} for n in range(9)}
    by_clicks = Dataset.of(["fig", "pear"], queries=texts, clicks=graded)
    by_grades = Dataset.of(["fig", "pear"], queries=texts, qrels={"train": graded})
    for data, values in ((by_clicks, {1}), (by_grades, {2, 3})):
        train, test = split_dataset(data, held_out=0.3, cold=0.0)
        assert {grade for row in test.qrels_dict("test").values() for grade in row.values()} == values
        assert set(train.clicks.data.tolist()) == {2, 3}
        assert train.split_report == test.split_report and train.split_report.warm_queries == 3
        assert (train.has_click_log, test.has_click_log) == (data.has_click_log, False)


def test_clicks_set_aside_are_counted_and_said_from_a_twentieth_on():
    """A cold item's other click is of a query that stays, so it is in neither part."""

    def told(others):
        clicks = [("lone", "0"), ("both", "0"), ("both", "1")]
        clicks += [(f"q{n}", str(1 + n % 2)) for n in range(others)]
        data = Dataset.of(["a", "b", "c"], clicks=clicks)
        rows = [data.query_texts()[1].index("lone")]
        found = splits.ColdWarmSplit(np.array(rows), np.zeros(0, np.int64), np.array([True, False, False]))
        return data, found

    for others, said in ((16, True), (17, False), (18, False)):
        data, found = told(others)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(splits, "cold_warm_split", lambda *_, found=found, **__: found)
            train, _ = split_dataset(data, held_out=1 / (others + 2), cold=1.0)
        assert train.split_report.clicks_set_aside == 1 and train.clicks.nnz == others + 1
        assert any("set aside" in message for message in train.warnings) == said, others


def test_a_moment_belongs_to_what_is_held_out():
    log = [("a", "0", 2, 10.0), ("b", "0", 5, 20.0), ("b", "1", 1, 20.0), ("c", "1", 1, 30.0)]
    data = Dataset.of(["fig", "pear"], clicks=log)
    train, test = split_by_time(data, after=20.0)
    assert train.clicks.toarray().sum() == 2 and train.events.times.tolist() == [10.0]
    rows = test.qrels_dict("test")
    assert sum(len(row) for row in rows.values()) == 3 and {g for row in rows.values() for g in row.values()} == {1}
    assert test.query_texts("warm")[1] == ["b"] and test.query_texts("cold")[1] == ["c"]
    with pytest.raises(InputError, match="part the clicks in two"):
        split_by_time(data, after=10.0)
    with pytest.raises(InputError, match="part the clicks in two"):
        split_by_time(data, after=30.5)
    for share, kept in ((0.25, 3), (0.5, 1), (0.6, 1)):
        assert len(split_by_time(data, held_out=share)[0].events.times) == kept
    for wrong in (0, 1, -0.5):
        with pytest.raises(InputError, match="`held_out` must be above 0 and below 1"):
            split_by_time(data, held_out=wrong)


@pytest.mark.parametrize("late", [29, 30, 31])
def test_thirty_late_searches_tell_the_mix_by_time_and_fewer_do_not(late):
    log = [(f"old {n}", str(n % 5), 1, float(n)) for n in range(9 * late)]
    new = [("old 0", "0")] * 5 + [(f"new {n}", "0") for n in range(8)]
    new += [(f"new {n}", "6") for n in range(8, late - 5)]
    log += [(text, item, 1, 10_000.0 + n) for n, (text, item) in enumerate(new)]
    mix = predicted_mix(Dataset.of(list("abcdefg"), clicks=log))
    assert (mix.source == "times") == (late >= 30)
    if late >= 30:
        wanted = np.array([5, 8 + 1, late - 13 + 1]) / (late + 2)
        assert [mix.repeated, mix.warm, mix.cold] == pytest.approx(wanted.tolist())


def test_a_share_of_cold_queries_may_be_everything_or_nothing():
    assert Mix(0.0, 0.0, 1.0).with_cold(0.25).shares == {"repeated": 0.0, "warm": 0.75, "cold": 0.25}
    assert Mix(0.5, 0.25, 0.25).with_cold(1.0).shares == {"repeated": 0.0, "warm": 0.0, "cold": 1.0}
    log = Dataset.of({"f": "fig"}, clicks=[("red", "f"), ("sweet", "f")])
    for cold in (0.0, 1.0):
        assert predicted_mix(log, cold).cold == cold and predicted_mix(log, cold).source == "given"
    for wrong in (-0.1, 1.1, "some"):
        with pytest.raises(InputError, match="`cold` must be"):
            predicted_mix(log, wrong)


def test_weights_that_are_no_counts_are_one_search_each():
    def searches(weight):
        data = Dataset.of(list("ab"), queries={"q": "fig"}, clicks={"q": {"0": weight, "1": 1}})
        return query_mix.searches_of_rows(data).tolist()

    assert searches(3) == [3] and searches(2.5) == [1]
    graded = Dataset.of(list("ab"), queries={"q": "fig"}, qrels={"train": {"q": {"0": 3}}})
    assert query_mix.searches_of_rows(graded).tolist() == [1]


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(0, 4), st.integers(0, 6))
def test_cold_and_warm_rows_are_what_they_are_called(seed, cold, warm):
    rng = np.random.default_rng(seed)
    full = (rng.random((20, 8)) < 0.2).astype(np.float32)
    eligible = rng.random(20) < 0.8
    clicks = csr_array(full)
    found = cold_warm_counts(clicks, cold=cold, warm=warm, seed=seed, eligible=eligible)
    left = found.left(clicks).toarray() > 0
    assert len(found.cold) <= cold and len(found.warm) <= warm and eligible[found.rows].all()
    assert not set(found.cold) & set(found.warm)
    kept = left.any(axis=0)
    for row in found.cold:
        assert not kept[full[row] > 0].any() and full[row].any()
    for row in found.warm:
        assert kept[full[row] > 0].all() and full[row].any()
    others = [row for row in range(20) if full[row].any() and row not in found.rows]
    assert left[others].any(axis=1).all()  # whoever stays keeps a click


def test_of_equals_the_first_trial_is_chosen():
    same = {"all": 0.5, "warm": 0.5, "cold": 0.5}
    values = np.full((3, 40), 0.5)
    assert harmless()([same] * 3, values) == harmless(1)([same] * 3, values) == 0
    assert balanced({"warm": 0.1, "cold": 0.3})([same] * 3, values) == 0
    assert surely_better()([], values) == surely_better(top_only=True)([], values) == 0
    assert highest()([], values) == 0 and highest([1, 2, 2])([], values) == 1
    assert harmless_to_cold(Judge.of_cold(np.arange(40) < 20, 0.5))([], values) == 0


def test_totals_that_agree_to_six_digits_are_equal():
    close = np.array([[0.5], [0.5000004], [0.500002]])
    assert highest([1, 0, 0])([], close[:2]) == 0 and highest([1, 0, 0])([], close) == 2


def test_without_a_base_the_best_may_lose_to_the_first():
    trials = [{"all": 0.3, "warm": 0.3, "cold": 0.3}, {"all": 0.4, "warm": 0.6, "cold": 0.2}]
    assert harmless()(trials, np.zeros((2, 0))) == 1 and harmless(0)(trials, np.zeros((2, 0))) == 0
    assert harmless(1)(trials, np.zeros((2, 0))) == 1


def test_top_only_asks_the_highest_and_no_other():
    rng = np.random.default_rng(0)
    base = np.zeros(100)
    sure, wild = np.full(100, 0.1) + 0.01 * rng.normal(size=100), 3 * rng.normal(size=100)
    wild += 0.2 - wild.mean()
    rows = np.stack([base, sure, wild])
    assert surely_better(2.0)([], rows) == 1 and surely_better(2.0, top_only=True)([], rows) == 0
    assert surely_better(2.0, top_only=True)([], rows[:2]) == 1


def test_a_gain_at_exactly_the_bar_is_not_sure():
    gains = np.array([0.0, 2.0] * 50)  # mean 1, standard error 0.1
    values = np.stack([np.zeros(100), gains])
    assert surely_better(10.0)([], values) == 0 and surely_better(9.99)([], values) == 1


def test_kinds_weigh_their_shares_among_those_held_out():
    judge = Judge(np.array(["cold"] * 2 + ["warm"] * 3), {"repeated": 0.1, "warm": 0.6, "cold": 0.3})
    assert judge.weights == pytest.approx({"warm": 2 / 3, "cold": 1 / 3})
    assert judge.common == ("repeated", "warm", "cold") and judge.reported == ("all", "repeated", "warm", "cold")
    assert Judge(judge.kinds, {"warm": 0.95, "cold": 0.0999}).common == ("warm",)
    assert Judge(judge.kinds, {}).weights == {"warm": 0.5, "cold": 0.5} and Judge(judge.kinds, {}).reported == ("all",)
    values = np.array([0.0, 1.0, 0.3, 0.6, 0.9])
    assert judge.quality(values) == pytest.approx(2 / 3 * 0.6 + 1 / 3 * 0.5)
    assert judge.quality(values, "repeated") == 0.0 and judge.only(judge.cold).counts == {
        "repeated": 0, "warm": 0, "cold": 2,
    }  # fmt: skip
    assert qualities_of(values, judge) == pytest.approx({"all": 0.5666667, "repeated": 0, "warm": 0.6, "cold": 0.5})
    gain = judge.gain(values, np.zeros(5), "warm")
    assert gain == pytest.approx((0.6, np.sqrt(np.var([0.3, 0.6, 0.9], ddof=1) / 3), 3))


def test_a_gain_without_noise_is_infinitely_sure_and_reversed_is_a_loss():
    assert Gain(0.1, 0.0, 30).errors == np.inf and Gain(-0.1, 0.0, 30).errors == -np.inf
    assert Gain(0.0, 0.0, 30).errors == 0.0 and Gain(0.1, 0.0, 29).errors == 0.0
    assert Gain(0.1, 0.05, 30).reversed == Gain(-0.1, 0.05, 30)
    assert Gain(-0.0196, 0.01, 100).p == pytest.approx(0.05, abs=1e-4)


def test_a_choice_counts_its_queries_and_keeps_every_trial():
    judge = Judge(np.array(["cold", "warm", "warm", "repeated"]), {"repeated": 0.2, "warm": 0.4, "cold": 0.4})
    found = choose([{"w": 1}, {"w": 2}], [np.zeros(4), np.ones(4)], judge, measure="M", rule=highest())
    assert (found.cold, found.warm, found.repeated, found.best) == (1, 2, 1, 1)
    assert found.trials[1] == {"w": 2, "all": 1.0, "repeated": 1.0, "warm": 1.0, "cold": 1.0}
    plain = choose([{"w": 1}], [np.array([0.0, 1.0])], measure="M", rule=highest())
    assert (plain.cold, plain.warm, plain.trials[0]["cold"]) == (0, 2, 0.0)
    assert Choice.of(plain.to_dict()) == plain
    for wrong in ({"best": 1}, {"trials": [{"w": 1}]}, {"trials": []}):
        with pytest.raises(InputError, match="trials and a best one"):
            Choice.of({**plain.to_dict(), **wrong})


def test_curves_are_drawn_by_weight_for_each_combination_of_the_rest():
    trials = [{"weight": w, "kind": kind, "all": w / 2, "warm": w, "cold": 0.0} for kind in "ab" for w in (0.0, 1.0)]
    found = Choice("M", 1, 1, trials, 0)
    assert found.curves() == {"kind a": [(0.0, 0.0), (1.0, 0.5)], "kind b": [(0.0, 0.0), (1.0, 0.5)]}
    assert found.curves(quality="warm")["kind b"] == [(0.0, 0.0), (1.0, 1.0)]


def test_a_weight_that_decayed_to_a_1024th_still_counts_and_a_smaller_one_does_not():
    day = 86_400.0
    log = [("fig", "0", 1.0, 0.0), ("fig", "1", 1.0, day), ("fig", "2", 1.0, 11 * day)]
    assert recency.decayed(log, 1.0) == [("fig", "1", 1 / 1024), ("fig", "2", 1.0)]
    aged = recency.decayed(Dataset.of(["a", "b", "c"], clicks=log), 1.0)
    assert aged.clicks.toarray().tolist() == [[0, 1 / 1024, 1.0]] and aged.events is None


@pytest.mark.parametrize("as_dataset", [False, True])
def test_the_latest_of_many_late_queries_are_asked(as_dataset, monkeypatch):
    monkeypatch.setattr(recency, "MAX_HELD_OUT_QUERIES", 3)
    log = [(f"q{n:02}", str(n % 4), 1.0, float(n)) for n in range(50)]
    _, texts, wanted, cold, days = recency._parted(Dataset.of(list("abcd"), clicks=log) if as_dataset else log)
    assert texts == ["q47", "q48", "q49"] and wanted == [{"3"}, {"0"}, {"1"}] and not cold.any()
    assert days == pytest.approx(49 / 86_400)


def test_imagined_queries_lie_from_their_item_as_real_ones_from_theirs():
    rng = np.random.default_rng(1)
    vectors = (rng.normal(size=(6, 4)) * 3).astype(np.float32)
    rows = rng.normal(size=(3, 4)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    clicks = Positives(np.array([[0, 1], [2, -1], [3, 4]], np.int32), np.array([[1, 1], [1, 0], [0, 2.0]], np.float32))
    known = [(0, 0), (0, 1), (1, 2), (2, 4)]
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    drawn, items = SyntheticQueries(vectors, rows, clicks).draw(40, np.random.default_rng(2))
    assert set(items.tolist()) == set(range(6)) and drawn.dtype == np.float32
    for query, item in zip(drawn, items, strict=True):
        options = [units[item] + rows[row] - units[own] for row, own in known]
        assert min(np.abs(query - option / np.linalg.norm(option)).max() for option in options) < 1e-5


def test_a_sample_takes_items_while_their_rows_fit_and_holds_out_queries_alone(monkeypatch):
    monkeypatch.setattr(splits, "MAX_SAMPLE_ROWS", 12)
    clicks = plain_log(40, items=10)  # four rows an item
    for seed in range(5):
        found = draw_sample(clicks, 25, seed=seed)
        assert len(found.items) == 3 and len(found.rows) == 12 and (np.diff(found.items) > 0).all()
        of_queries = int((found.rows < 25).sum())
        assert (found.rows[found.held] < 25).all() and len(found.held) == round(0.2 * of_queries)
        assert found.learned.sum() == 12 - len(found.held) and found.too_small
    monkeypatch.setattr(splits, "MAX_SAMPLE_ROWS", 3)
    assert len(draw_sample(clicks, 25, seed=0).items) == 1  # one at least


def test_clicks_of_one_text_at_one_moment_are_one_search_that_is_warm_by_any_known_item():
    log = [(f"old {n}", str(n % 3), 1, float(n)) for n in range(810)]
    late = [(f"new {n}", item, 1, 10_000.0 + n) for n in range(40) for item in ("4", "0" if n < 10 else "5")]
    late += [("new 0", "4", 1, 20_000.0 + n) for n in range(10)]  # a new text, asked again later on
    mix = predicted_mix(Dataset.of(list("abcdef"), clicks=log + late))
    assert mix == pytest.approx((0, 11 / 52, 41 / 52, "times"))


def test_of_half_lives_the_best_alone_is_asked_whether_it_is_sure(monkeypatch):
    """A half-life that is surely but slightly better is not taken where another, unsure one has the highest mean."""
    rng = np.random.default_rng(0)
    slight, wild = np.full(100, 0.01), 5 * rng.normal(size=100)
    wild += 0.5 - wild.mean()
    log = [(f"q{n}", str(n % 7), 1.0, float(n)) for n in range(1000)]
    for rows, best in (([slight, wild], 0), ([slight], 1), ([wild], 0)):
        given = iter([np.zeros(100), *rows, *[np.full(100, -1.0)] * 9])
        monkeypatch.setattr(recency, "_ranks", lambda *_, given=given: next(given))
        assert recency.choose_half_life(log, lambda clicks: None).best == best


@pytest.mark.parametrize(("keep_best", "looks", "raised"), [(True, 1, True), (True, 2, False), (False, 2, True)])
def test_ctrl_c_is_raised_where_no_weights_are_kept(keep_best, looks, raised):
    done = []

    class Steps:
        steps, steps_per_epoch, steps_done = 9, 1, 0

        def epoch(self):
            if len(done) >= looks:
                raise KeyboardInterrupt
            self.steps_done += 1
            yield 0.0

        def weights(self):
            return {"w": np.zeros(1, np.float32)}

        def set_weights(self, weights):
            """Take nothing."""

    loop = TrainingLoop(Steps(), key="", measure=lambda: done.append(1) or [np.zeros(1)], keep_best=keep_best)
    if raised:
        with pytest.raises(KeyboardInterrupt):
            loop.run()
    else:
        loop.run()
    assert loop.interrupted is not raised
