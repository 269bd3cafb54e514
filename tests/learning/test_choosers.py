"""What chooses on clicks: just below and just above each threshold, and blind to what it is judged by."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.learning.steps import gains
from vizsla.core.strings import Strings
from vizsla.data.dataset import Dataset
from vizsla.learning import recency
from vizsla.learning.clicks import ClickLog
from vizsla.learning.selection import Gain, Judge, balanced, choose, harmless, harmless_to_cold, surely_better
from vizsla.learning.splits import draw_sample, log_splits
from vizsla.methods.bm25 import bm25
from vizsla.methods.dense import dense
from vizsla.methods.pefa import pefa_xs, selection
from vizsla.methods.tokens import tuning
from vizsla.methods.tokens.learner import LearningSettings
from vizsla.methods.tokens.model import tokens
from vizsla.methods.xrlinear import tuning as xrlinear_trial

DAY = 86400.0


def test_the_variance_of_a_gain_is_that_of_each_kind_by_its_squared_weight():
    kinds = np.array(["repeated"] * 3 + ["warm"] * 4 + ["cold"] * 5)
    values = np.array([0.1, 0.5, 0.3, 0.0, 1.0, 0.5, 0.5, 0.2, 0.4, 0.9, 0.1, 0.4])
    shares = {"repeated": 0.2, "warm": 0.5, "cold": 0.3}
    gain = Judge(kinds, shares).gain(values, np.zeros(12))
    own = {kind: values[kinds == kind] for kind in shares}
    assert gain.mean == pytest.approx(0.2 * 0.3 + 0.5 * 0.5 + 0.3 * 0.4)
    variance = sum(shares[kind] ** 2 * own[kind].var(ddof=1) / len(own[kind]) for kind in shares)
    assert gain.error == pytest.approx(variance**0.5)
    assert Judge(kinds, shares).gain(values, np.zeros(12), "warm") == pytest.approx(
        (0.5, own["warm"].std(ddof=1) / 2, 4)
    )
    few = Judge(kinds[3:], shares).gain(values[3:], np.zeros(9))  # without repeated ones the others share their weight
    assert few.mean == pytest.approx((0.5 * 0.5 + 0.3 * 0.4) / 0.8)


def test_rows_are_judged_as_single_ones_are():
    pick = np.random.default_rng(0)
    judge = Judge(np.repeat(["repeated", "warm", "cold"], [40, 60, 50]), {"repeated": 0.3, "warm": 0.3, "cold": 0.4})
    rows, other = pick.random((7, 150)), pick.random(150)
    rows[3] = other
    for kind in ("all", "repeated", "warm", "cold"):
        single = [judge.gain(row, other, kind).errors for row in rows]
        assert judge.errors(rows, other, kind) == pytest.approx(single)
        assert judge.qualities(rows, kind) == pytest.approx([judge.quality(row, kind) for row in rows])


@pytest.mark.parametrize(("queries", "errors"), [(29, 0.0), (30, 3.0)])
def test_below_thirty_queries_nothing_is_sure(queries, errors):
    assert Gain(0.03, 0.01, queries).errors == pytest.approx(errors)
    judge = Judge.of_cold(np.zeros(queries, np.bool_), 0.0)
    rows = np.tile(np.linspace(0.1, 0.3, queries), (1, 1))
    assert (judge.errors(rows, np.zeros(queries))[0] > 0) == (errors > 0)


@pytest.mark.parametrize(("errors", "chosen"), [(2.98, 0), (3.02, 1)])
def test_features_and_click_weights_are_left_for_three_standard_errors(errors, chosen):
    better = gains(400, errors, ddof=0)
    assert surely_better()([], np.stack([np.zeros(400), better])) == chosen
    assert surely_better()([], np.stack([np.full(400, 0.5), 0.5 + better])) == chosen


@pytest.mark.parametrize(("kind", "loss", "chosen"), [("warm", 0.0, 1), ("warm", 1e-6, 0), ("cold", 1e-6, 0)])
def test_a_trial_that_loses_anything_on_a_kind_is_no_choice(kind, loss, chosen):
    base = {"all": 0.3, "warm": 0.3, "cold": 0.3}
    better = {"all": 0.4, "warm": 0.5, "cold": 0.5} | {kind: 0.3 - loss}
    assert harmless(0)([base, better], []) == chosen


def test_the_worse_side_decides_against_something_else():
    against = {"warm": 0.5, "cold": 0.2}
    trials = [{"warm": 0.60, "cold": 0.21}, {"warm": 0.52, "cold": 0.22}, {"warm": 0.51, "cold": 0.90}]
    assert balanced(against)(trials, []) == 1  # by +.02 on its worse side, the others by +.01
    assert balanced({"cold": 0.2})(trials, []) == 2


def test_a_choice_tells_warm_from_cold():
    cold = np.array([True, False, False])
    values = [np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 1.0])]
    choice = choose([{"w": 1}, {"w": 2}], values, cold, measure="M", rule=harmless())
    assert [trial["cold"] for trial in choice.trials] == [1.0, 0.0]
    assert [trial["warm"] for trial in choice.trials] == [0.0, 1.0]
    assert (choice.cold, choice.warm, choice.best) == (1, 2, 1)


@pytest.mark.parametrize(("errors", "chosen"), [(1.97, 1), (2.03, 0)])
def test_an_epoch_may_be_behind_by_two_standard_errors_on_cold_queries(errors, chosen):
    judge = Judge.of_cold(np.arange(200) < 100, 0.5)
    before = np.full(200, 0.5)
    after = np.where(judge.cold, 0.5 - np.tile(gains(100, errors), 2), 1.0)
    assert harmless_to_cold(judge)([], np.stack([before, after])) == chosen


def times_log(count: int) -> list[tuple[str, str, float, float]]:
    return [(f"text {n}", f"i{n % 7}", 1.0, n * DAY) for n in range(count)]


@pytest.mark.parametrize(("errors", "chosen"), [(1.97, None), (2.03, 99.0)])
def test_a_half_life_is_taken_for_two_standard_errors(monkeypatch, errors, chosen):
    given = iter([np.zeros(100), *[gains(100, errors, ddof=0)], *[np.full(100, -1.0)] * 9])
    monkeypatch.setattr(recency, "_ranks", lambda model, texts, wanted: next(given))
    choice = recency.choose_half_life(times_log(1000), lambda clicks: None)
    assert choice.chosen["half_life"] == (None if chosen is None else choice.trials[1]["half_life"])


@pytest.mark.parametrize("as_dataset", [False, True])
def test_no_half_life_is_tried_on_clicks_that_it_is_judged_by(monkeypatch, as_dataset):
    rows, seen, judged = times_log(200), [], []
    items = {f"i{n}": "item" for n in range(7)}

    def build(clicks):
        if isinstance(clicks, Dataset):
            every = clicks.query_texts()[1]
            seen.append({every[row] for row in np.flatnonzero(np.diff(clicks.clicks.tocsr().indptr))})
        else:
            seen.append({query for query, *_ in clicks})

    def ranks(model, texts, wanted):
        judged.append((texts, wanted))
        return np.zeros(len(texts))

    monkeypatch.setattr(recency, "_ranks", ranks)
    recency.choose_half_life(Dataset.of(items, clicks=rows) if as_dataset else rows, build)
    assert len(seen) == len(judged) == 1 + len(recency.HALF_LIFE_SHARES)
    late = {query: item for query, item, _, _ in rows[180:]}
    for texts, wanted in judged:
        assert dict(zip(texts, wanted, strict=True)) == {query: {item} for query, item in late.items()}
    for texts in seen:
        assert texts <= {query for query, *_ in rows[:180]}
    assert seen[0] == {query for query, *_ in rows[:180]}


def test_half_lives_are_shares_of_the_time_that_the_log_spans(monkeypatch):
    monkeypatch.setattr(recency, "_ranks", lambda model, texts, wanted: np.zeros(len(texts)))
    tried = [trial["half_life"] for trial in recency.choose_half_life(times_log(401), lambda clicks: None).trials]
    assert tried == [None, 400.0, 200.0, 100.0, 50.0, 25.0]


def letters(texts) -> np.ndarray:
    return np.array([[text.count(c) for c in "0123456789"] for text in texts], np.float32)


def small_log(queries: int = 120) -> ClickLog:
    pairs = [(f"query {n}", f"i{n % 30 if n < 100 else 30 + n % 20}") for n in range(queries)]
    return ClickLog.of(pairs, Strings.of([f"i{n}" for n in range(60)]), letters)


@pytest.mark.parametrize("seed", range(3))
def test_a_split_of_a_log_keeps_nothing_of_what_is_held_out(seed):
    log = small_log()
    held: list[set[int]] = []
    for split in log_splits(log, cold=0.5, seed=seed):
        names, left = log.take_queries(split.held), set(split.train.queries)
        assert not set(names) & left
        clicked = split.train.clicked
        wanted = log.matrix[split.held]
        for row, cold in enumerate(split.is_cold):
            items = wanted.indices[wanted.indptr[row] : wanted.indptr[row + 1]]
            assert not clicked[items].any() if cold else clicked[items].all()
        assert split.is_cold.any()
        assert not split.is_cold.all()
        held.append(set(split.held.tolist()))
    assert all(one != other for one, other in pairwise(held))


def test_pefa_is_tried_with_the_clicks_that_are_left(monkeypatch):
    base, seen = dense({f"i{n}": f"item {n}" for n in range(60)}, _encoder()), []
    original = selection.click_vectors

    def watched(log, items, weights=None):
        seen.append(set(log.queries))
        return original(log, items, weights)

    monkeypatch.setattr(selection, "click_vectors", watched)
    pairs = [(f"query {n}", f"i{n % 30}") for n in range(120)]
    model = pefa_xs(base, pairs, seed=4)
    assert model.choice is not None
    splits = list(log_splits(model.log, cold=0.5, seed=4))
    held = [set(model.log.take_queries(split.held)) for split in splits]
    tried = seen[: 2 * len(splits)]  # for each split, to calibrate and to score; the last is for the result
    assert all(not queries & held[at // 2] for at, queries in enumerate(tried))
    assert all(queries == set(model.log.queries) for queries in seen[2 * len(splits) :])


def _encoder():
    from vizsla.base.encoder import FunctionEncoder

    return FunctionEncoder(letters, dim=10, name="digits")


def test_a_sample_learns_from_rows_that_it_does_not_ask(monkeypatch):
    clicks = csr_array((np.ones(900, np.float32), (np.arange(900), np.arange(900) % 40)), shape=(900, 40))
    sample, seen = draw_sample(clicks, 900, seed=0), []

    class Asked:
        def search(self, rows, depth):
            seen.append(("asked", rows[:, 0].toarray().ravel().astype(int)))

    def learn(features, costs, threads):
        seen.append(("learned", features[:, 0].toarray().ravel().astype(int)))
        assert features.shape[0] == costs.shape[0]
        return Asked()

    monkeypatch.setattr(xrlinear_trial, "_learn", learn)
    numbered = csr_array(
        (np.arange(1.0, 901.0)[sample.rows], (np.arange(len(sample.rows)), np.zeros(len(sample.rows), int)))
    )
    xrlinear_trial.search_held_out(sample, numbered, sample.clicks)
    learned, asked = dict(seen)["learned"], dict(seen)["asked"]
    assert not set(learned) & set(asked)
    assert len(asked) == round(0.2 * 900)
    assert sorted([*learned, *asked]) == list(range(1, 901))


@pytest.mark.parametrize("queries", [99, 100])
def test_b_is_chosen_from_a_hundred_queries_on(queries):
    """Short items are asked for; long ones hold the same word: b = 1 finds them first, the default does not."""
    items = {f"short{n}": f"word{n}" for n in range(queries)}
    items |= {f"long{n}": f"word{n} " + " ".join(f"other{m}" for m in range(n, n + 9)) for n in range(queries)}
    wanted = [(f"word{n} other{n} other{n + 1}", f"short{n}") for n in range(queries)]
    data = Dataset.of(items, clicks=wanted)
    made = tokens(data, b=0.5, epochs=0)
    best = tuning.chosen_b(made, data, seed=0)
    clicked = ClickLog.of(data, made.items)
    quality = {b: tuning._ranks(made.with_b(b), clicked).mean() for b in tuning.TRIED_B}
    expected = 0.5 if queries < 100 else max(quality, key=lambda b: (quality[b], -abs(b - 0.5)))
    assert best == expected
    assert tuning.chosen_b(made, list(items), seed=0) == 0.5


def test_a_table_is_tried_on_queries_that_it_did_not_learn(monkeypatch):
    items = {f"i{n}": f"word{n} common" for n in range(40)}
    pairs = [(f"word{n % 40} ask{n}", f"i{n % 40}") for n in range(200)]
    seen, original = [], tuning.new_learner

    def watched(bag_, clicked, clicks, settings):
        seen.append((clicked, clicks))
        return original(bag_, clicked, clicks, settings)

    monkeypatch.setattr(tuning, "new_learner", watched)
    asked: list[list[str]] = []
    monkeypatch.setattr(
        tuning.EpochTrial,
        "ranks",
        lambda self: asked.append(self.asked.texts) or np.zeros(len(self.asked.texts)),
    )
    made = tokens(items, b=0.5)
    clicked = ClickLog.of(pairs, made.items)
    known = made.with_words(clicked.texts)
    choice = tuning.chosen_epochs(known, clicked, LearningSettings(0.1, 8, 1.0, 32, 8), seed=0)
    assert choice.cold + choice.warm == len(np.concatenate(asked[: len(seen)]))
    for (log, left), texts in zip(seen, asked, strict=False):
        learned = {log.texts[row] for row in np.flatnonzero(np.diff(left.indptr))}
        assert texts
        assert not learned & set(texts)


def test_every_part_of_a_fusion_is_judged_without_the_clicks_it_is_judged_by():
    """Also those of repeated texts: what is held out is in no part's training."""
    from vizsla.learning.splits import draw_holdout

    clicks = [(f"text {n}", f"i{n % 20}") for n in range(200)]
    clicks += [(f"twice {n % 50}", f"i{n % 50 % 20}") for n in range(100)]
    log = Dataset.of({f"i{n}": f"item {n}" for n in range(20)}, clicks=clicks)
    fold = draw_holdout(log, seed=1)
    words = bm25(log)
    full = pefa_xs(words, log, weight=0.5, calibrated=False)
    twin, built = full.refit_on(fold.train), pefa_xs(words, fold.train, weight=0.5, calibrated=False)
    assert (fold.kinds == "repeated").any()
    asked = log.query_texts()[1][::7]
    assert twin(asked, 10).to_dict() == built(asked, 10).to_dict()
    assert full(asked, 10).to_dict() != built(asked, 10).to_dict()


def test_a_late_query_is_cold_if_none_of_its_items_was_clicked_before(monkeypatch):
    rows = [(f"early {n}", f"i{n % 5}", 1.0, n * DAY) for n in range(90)]
    late = [("both", "i1"), ("both", "new"), ("warm", "i2"), ("cold", "new"), ("cold", "newer")] * 2
    rows += [(query, item, 1.0, 100 * DAY + at) for at, (query, item) in enumerate(late)]
    values = {"both": 0.5, "warm": 0.1, "cold": 0.9}
    monkeypatch.setattr(recency, "_ranks", lambda model, texts, wanted: np.array([values[text] for text in texts]))
    items = dict.fromkeys(("i0", "i1", "i2", "i3", "i4", "new", "newer"), "item")
    for clicks in (rows, Dataset.of(items, clicks=rows)):
        choice = recency.choose_half_life(clicks, lambda clicks: None)
        assert (choice.warm, choice.cold) == (2, 1)
        assert choice.trials[0] == pytest.approx({"half_life": None, "all": 0.5, "warm": 0.3, "cold": 0.9})
