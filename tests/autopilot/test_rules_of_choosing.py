"""Limits, halving, windows of a log, intervals and plans of `learn`, each by hand on few numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.sparse import csr_array

from tests.support.table_retriever import TableRetriever
from vizsla.autopilot.diagnose import Diagnosis, LossStep, _deeper, _larger_budget, diagnose
from vizsla.autopilot.fusing import PartPool, SearchPlan, _moved, _with, decimal_text
from vizsla.autopilot.limits import Limits, SearchCost, seconds_of
from vizsla.autopilot.log_summary import LogSummary
from vizsla.autopilot.proposals import LSA_DIMENSIONS, Candidate, Workshop, own_encoder, proposed
from vizsla.autopilot.race import Race, family_bests, round_up
from vizsla.autopilot.refinements import _ranked, _spread, best_signal, reranked_plans, signal_candidates
from vizsla.autopilot.searches import Difference95, LearningSplits, Searches, newest_clicks, split_log
from vizsla.autopilot.trials import LearningTrial, TrialStore, data_digest
from vizsla.base.encoder import FunctionEncoder
from vizsla.base.recipe import Recipe
from vizsla.compose.signal import Signal
from vizsla.core.candidates import Candidates
from vizsla.data.dataset import SECONDS_PER_DAY, Dataset
from vizsla.errors import InputError
from vizsla.learning.query_mix import Mix
from vizsla.methods.bm25 import bm25

NAN = float("nan")


def searches_of(wanted, items=30, *, texts=None, kinds=None, mix=None):
    rows = [row for row, each in enumerate(wanted) for _ in each]
    entries = (np.ones(len(rows), np.float32), (rows, [item for each in wanted for item in each]))
    names = texts or [f"t{row}" for row in range(len(wanted))]
    labels = np.array(kinds or ["warm"] * len(wanted))
    return Searches(names, csr_array(entries, shape=(len(wanted), items)), labels, mix or Mix(0.0, 1.0, 0.0))


# Limits.


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("5 ms", Limits(ms=5)), ("0.1s", Limits(ms=100)), ("2 GB", Limits(bytes=2e9)), ("3 mb", Limits(bytes=3e6)),
        ("1.5 kB/item", Limits(bytes_per_item=1500)), ("200 BYTES/item,", Limits(bytes_per_item=200)),
        ("1 call", Limits(calls=1)), ("50 calls, 7 ms", Limits(ms=7, calls=50)), ("", Limits()),
    ],
)  # fmt: skip
def test_limits_are_read_in_their_units(text, wanted):
    assert Limits.parse(text) == wanted


@pytest.mark.parametrize("wrong", ["5", "ms", "5 ms, 1 s", "5 days", "-5 ms", "5 ms 6 calls", "1e3 ms"])
def test_other_limits_are_refused(wrong):
    with pytest.raises(InputError, match="`limit` must be amounts"):
        Limits.parse(wrong)


@pytest.mark.parametrize(
    ("limits", "exceeded"),
    [
        (Limits(), ""), (Limits(ms=7), ""), (Limits(ms=6.9), "7 ms of 6.9"), (Limits(bytes_per_item=10), ""),
        (Limits(bytes_per_item=9), "10 bytes/item of 9"), (Limits(bytes=1000), ""),
        (Limits(bytes=999), "1000 bytes of 999"),
        (Limits(calls=3), ""), (Limits(calls=2), "3 calls of 2"), (Limits(ms=0, calls=0), "7 ms of 0"),
        (Limits(ms=9, calls=0), "3 calls of 0"),
    ],
)  # fmt: skip
def test_a_cost_at_its_limit_is_within_it_and_the_first_one_exceeded_is_named(limits, exceeded):
    assert limits.exceeded(SearchCost(7.0, 1000, 100, 3.0)) == exceeded
    assert Limits(ms=1).exceeded(SearchCost(NAN, 1, 1, 0.0)) == ""  # what was not timed exceeds nothing


def test_limits_and_costs_in_words():
    assert str(Limits(5, 200, None, 50)) == "5 ms, 200 bytes/item, 50 calls" and str(Limits()) == ""
    assert str(SearchCost(1.234, 5000, 4, 0.0)) == "1.23 ms, 1,250 bytes/item"
    assert str(SearchCost(1.0, 5, 0, 2.6)) == "1.00 ms, 5 bytes/item, 3 calls"


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), (" 2M ", 120), ("1.5min", 90), ("2 h", 7200), ("0.5", 0.5)]
)
def test_durations(text, seconds):
    assert seconds_of(text) == seconds
    for wrong in ("0", "x", "1d", "-1", "1 h 2 m", ""):
        with pytest.raises(InputError, match="`time` must be like"):
            seconds_of(wrong)


# Searches.

VALUES = st.integers(-4, 4).map(lambda number: number / 8)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["repeated", "warm", "cold"]), VALUES), min_size=2,
             max_size=9),
    st.data(),
)  # fmt: skip
def test_intervals_are_students_over_the_sums_of_each_text(rows, data):
    texts, kinds, numbers = zip(*rows, strict=True)
    searches = searches_of([[0]] * len(rows), texts=list(texts), kinds=list(kinds), mix=Mix(0.2, 0.3, 0.5))
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    values, weights = np.array(numbers, float), searches.weights
    shares = {kind: share for kind, share in Mix(0.2, 0.3, 0.5).shares.items() if kind in kinds}
    for kind, share in shares.items():
        own = weights[np.array(kinds) == kind]
        assert own.sum() == pytest.approx(share / sum(shares.values())) and np.ptp(own) < 1e-12
    assert searches.quality(values) == pytest.approx(float(values @ weights))
    for flags in (None, kept):
        each = weights if flags is None else weights * flags
        found = searches.interval(values, flags)
        if not each.sum():
            assert found == (0.0, 0.0, 1.96)
            continue
        each = each / each.sum()
        mean = float(values @ each)
        sums = {text: sum(w * (v - mean) for t, w, v in zip(texts, each, values, strict=True) if t == text) for text in texts}  # noqa: E501  # fmt: skip
        count = len({text for text, weight in zip(texts, each, strict=True) if weight > 0})
        assert found.mean == pytest.approx(mean, abs=1e-9)
        if count < 2:
            assert found.error == 1.0 and not found.significant
            continue
        assert found.error == pytest.approx(np.sqrt(sum(s * s for s in sums.values()) * count / (count - 1)), abs=1e-9)
        assert found.quantile == pytest.approx(stats.t.ppf(0.975, count - 1))


@pytest.mark.parametrize(
    ("mean", "error", "significant"),
    [(0.0196, 0.01, False), (0.0197, 0.01, True), (-0.0196, 0.01, False), (-0.0197, 0.01, True), (0, 0, False),
     (1, 0, True)],
)  # fmt: skip
def test_a_difference_is_significant_where_0_lies_outside_of_its_interval(mean, error, significant):
    found = Difference95(mean, error)
    assert found.significant is significant and found.high - found.low == pytest.approx(2 * 1.96 * error)
    assert found.p == pytest.approx(2 * stats.norm.sf(abs(mean) / error) if error else float(not mean))


def test_the_measure_is_ndcg_at_10_of_each_search_and_repeated_texts_are_asked_once():
    names = [f"i{number}" for number in range(30)]
    table = TableRetriever({"a": {f"i{n}": 30.0 - n for n in range(12)}, "b": {"i3": 1.0}, "c": {}}, names)
    searches = searches_of(
        [[0, 2], [3], [1], [*range(12)], [11], [0], [4, 3]], texts=["a", "b", "a", "a", "a", "c", "b"]
    )
    found = searches.answers(table)
    assert len(found) == 3 and found.ids[0] == names[:10]
    gains = 1 / np.log2(np.arange(10) + 2)
    two = gains[:2].sum()
    wanted = [(gains[0] + gains[2]) / two, 1, gains[1], 1, 0, 0, gains[0] / two]
    assert searches.measure(found).tolist() == pytest.approx(wanted)
    assert searches.measure(searches.answers(table, 20)).tolist() == pytest.approx(wanted)  # ten hits count
    assert searches.answers(TableRetriever({"a": {"x": 1.0}}, ["x"])).ids == [["x"], [], []]
    some = searches.take(np.array([4, 1]))
    assert some.texts == ["a", "b"] and some.wanted.indices.tolist() == [11, 3] and some.mix == searches.mix
    assert searches.sample(7, 0) is searches and len(searches.sample(3, 0)) == 3
    order = [searches.texts.index(text) for text in searches.sample(5, 1).texts]
    assert order == sorted(order) or len(set(searches.texts)) < len(searches)


def test_searches_of_a_window_are_of_the_kind_that_the_time_before_it_makes_them():
    """1,000 searches: the ninth hundred chooses, the last one reports; times are days."""
    log = [(f"old {n % 50}", str(n % 8), 1.0, float(n) * SECONDS_PER_DAY) for n in range(800)]
    log += [("new", "8", 1.0, (800.0 + n) * SECONDS_PER_DAY) for n in range(100)]  # a text and an item that are new
    last = [("old 1", "9"), ("new", "9"), ("newer", "8"), ("newest", "9")]
    log += [(*last[n % 4], 1.0, (900.0 + n) * SECONDS_PER_DAY) for n in range(100)]
    log += [("newest", "0", 1.0, 999.0 * SECONDS_PER_DAY)]  # the second click of a search
    splits = split_log(Dataset.of({str(n): f"item {n}" for n in range(10)}, clicks=log))
    assert splits.by == "time" and set(splits.choose.kinds) == {"cold"} and len(splits.choose) == 100
    assert (splits.learn_clicks, len(splits.before_report.events.times)) == (800, 900)
    kinds = dict(zip(splits.report.texts[:4], splits.report.kinds[:4], strict=True))
    assert kinds == {"old 1": "repeated", "new": "repeated", "newer": "warm", "newest": "cold"}
    assert sorted(splits.report.wanted[[99]].indices.tolist()) == [0, 9] and splits.report.kinds[99] == "warm"
    assert splits.report.mix == Mix(0.5, 0.26, 0.24, "times")
    few = splits.sampled(7, 0)
    assert (len(few.choose), len(few.report), few.learn) == (7, 7, splits.learn)


def test_newest_clicks_without_times_are_those_of_the_first_queries():
    clicks = {"a": {"f": 1}, "b": {"f": 1, "g": 1}, "c": {"g": 2}}
    data = Dataset.of({"f": "fig", "g": "pear"}, queries={id: id for id in clicks}, clicks=clicks)
    for count, kept in ((1, 1), (2, 3), (3, 3)):
        assert newest_clicks(data, count).clicks.nnz == kept
    assert newest_clicks(data, 4) is data
    timed = Dataset.of({"f": "fig"}, clicks=[("a", "f", 1, 3e9), ("b", "f", 1, 1e9), ("c", "f", 1, 2e9)])
    assert sorted(newest_clicks(timed, 2).events.times.tolist()) == [2e9, 3e9] and newest_clicks(timed, 3) is timed


# Halving.


def trial_of(name, quality=0.5, *, family="f", seconds=1.0, refused="", clicks=5, searches=4):
    cost, values = SearchCost(1.0, 10, 5, 0.0), np.full(searches, quality)
    return LearningTrial(name, family, Recipe.of("bm25"), clicks, searches, quality, seconds, cost, refused, values)


class Told(Race):
    """A race whose trials are written down."""

    def __init__(self, trials, families, left=1e9):
        candidates = {n: Candidate(n, family, Recipe.of("bm25")) for n, family in families.items()}
        data = Dataset.of({"0": "x"}, clicks=[("a", "0")])
        empty = searches_of([[0]] * 4, items=1)
        splits = LearningSplits(data, empty, data, empty, "query")
        super().__init__(candidates, splits, limits=Limits(), store=TrialStore(), seconds=left, digest_of_data="d")
        self.given, self.asked = trials, []

    def trial(self, name, round):
        self.asked.append(name)
        self.tried.append(self.given[name])
        return self.given[name]


def test_half_of_each_family_goes_on_and_a_single_one_without_a_trial():
    families = {"bm25": "words", "short": "words", "fields": "words", "tree": "tree", "m1": "m", "m2": "m"}
    trials = {"bm25": trial_of("bm25", 0.1), "short": trial_of("short", 0.3), "fields": trial_of("fields", 0.2),
              "m1": trial_of("m1", 0.9, refused="over"), "m2": trial_of("m2", 0.2)}  # fmt: skip
    race = Told(trials, families)
    assert race._halved(list(families)) == ["bm25", "short", "fields", "tree", "m2"]  # bm25 is always tried
    assert race.asked == ["bm25", "short", "fields", "m1", "m2"]
    over = {name: trial_of(name, quality, refused="over") for name, quality in (("m1", 0.9), ("m2", 0.2))}
    assert Told(over, {"m1": "m", "m2": "m"})._halved(["m1", "m2"]) == ["m1"]  # where all exceed a limit


def test_the_last_round_begins_with_the_baseline_and_the_cheapest_and_ends_with_the_time():
    families = {"slow": "a", "quick": "b", "bm25": "words", "unknown": "c"}
    trials = {name: trial_of(name, seconds=1.0) for name in families}
    race = Told(trials, families)
    race.tried = [trial_of("slow", seconds=9.0), trial_of("quick", seconds=2.0), trial_of("bm25", seconds=30.0)]
    race._final(list(families))
    assert race.asked == ["bm25", "unknown", "quick", "slow"] and race.stopped == ""
    late = Told(trials, families, left=0.0)
    late._final(list(families))
    assert late.asked == ["bm25"] and late.stopped == "because the time was up"
    assert [late.left < 0, late._is_late(0.0)] == [True, True]
    early = Told(trials, families)
    early.tried, early._stop = [trial_of("a", seconds=100.0)], Told(trials, families)._stop - 1e9 + 30
    assert [early._is_late(share) for share in (0.5, 1.0)] == [False, True]  # what is left: 30 of 25 and of 50


def test_trials_of_a_round_are_noted_once_with_the_best_within_the_limits():
    told = []
    race = Told({}, {"bm25": "words"})
    race._watch = told.append
    for one in (trial_of("a", 0.3), trial_of("b", 0.9, refused="9 ms of 5"), trial_of("a", 0.3), trial_of("c", 0.1),
                trial_of("c", 0.2, searches=2)):  # fmt: skip
        race._note(one, known=one.name == "c")
    assert [(each.trial.name, each.best.name) for each in told] == [("a", "a"), ("b", "a"), ("c", "a"), ("c", "c")]
    assert "over the limit: 9 ms of 5" in str(told[1]) and "(known)" in str(told[2]) and "(known)" not in str(told[1])
    assert "a                    nDCG@10 0.300 on 4 searches, 1.00 ms, 2 bytes/item, 1.0 s. Best a 0.300" in str(
        told[0]
    )


def test_the_best_of_each_family_within_the_limits_best_first():
    trials = [trial_of("a", 0.2, family="x"), trial_of("b", 0.4, family="y"), trial_of("c", 0.3, family="x"),
              trial_of("d", 0.9, family="x", refused="over"), trial_of("e", 0.4, family="y")]  # fmt: skip
    assert [each.name for each in family_bests(trials)] == ["b", "c"]
    assert [round_up(value) for value in (0.0, 0.1, 1.0, 1.5)] == [0, 1, 1, 2]


def test_a_trial_is_read_as_it_was_stored(tmp_path):
    one = trial_of("a", 0.25, seconds=2.5, refused="over")
    untimed = LearningTrial("b", "g", Recipe.of("bm25", k1=0.9), 7, 2, 0.5, 1.5, SearchCost(NAN, 3, 2, 4.0), "", np.array([0.0, 1.0]))  # noqa: E501  # fmt: skip
    with TrialStore(tmp_path / "t.sqlite") as store:
        store.put("1", one)
        store.put("2", untimed)
        assert len(store) == 2 and store.find("3") is None
    with TrialStore(tmp_path / "t.sqlite") as store:
        for key, wanted in (("1", one), ("2", untimed)):
            found = store.find(key)
            assert found.to_dict() == wanted.to_dict() and found.values.tolist() == wanted.values.tolist()
            assert str(found.cost) == str(wanted.cost) and found.recipe == wanted.recipe
    assert untimed.to_dict()["ms"] is None and untimed.to_dict()["bytes_per_item"] == 1.5


def test_the_digest_of_data_holds_whatever_is_learned_from():
    items = [{"id": "f", "title": "Fig", "text": "a fig", "price": 1}, {"id": "p", "title": "", "text": "a pear"}]
    log = [("x", "f", 1.0, 1e9), ("y", "p", 1.0, 2e9)]
    others = [
        ([{**items[0], "price": 2}, items[1]], log), ([{**items[0], "title": "Figs"}, items[1]], log),
        ([{**items[0], "text": "figs"}, items[1]], log),
        ([{**items[0], "id": "g"}, items[1]], [("x", "g", 1.0, 1e9), log[1]]),
        (items, [("x", "f", 2.0, 1e9), log[1]]), (items, [("z", "f", 1.0, 1e9), log[1]]),
        (items, [("x", "p", 1.0, 1e9), log[1]]), (items, [("x", "f", 1.0, 1.5e9), log[1]]), (items, log[:1]),
    ]  # fmt: skip
    found = [data_digest(Dataset.of(rows, clicks=clicks)) for rows, clicks in [(items, log), *others]]
    assert len(set(found)) == len(found) and data_digest(Dataset.of(items, clicks=log)) == found[0]


# What is proposed.


def names_of(**options):
    items = options.pop("items", {str(n): f"item {n}" for n in range(20)})
    return list(proposed(Dataset.of(items, **options.pop("data", {})), **options))


def test_what_is_tried_follows_from_what_is_there():
    clicks = [("a", "0", 1.0)]
    words, learned = ["bm25", "bm25_short", "tokens", "tfidf"], ["bm25_clicks", "tfidf_clicks"]
    memories = ["memory", "memory_sure", "memory_doubting"]
    assert names_of() == words
    assert names_of(data={"clicks": clicks}) == [*words, *learned, *memories, "tree"]
    titled = [{"id": "0", "title": "One", "text": "x"}]
    assert "bm25_fields" in names_of(items=titled, data={"clicks": clicks}) and "bm25_fields" not in names_of(
        items=titled
    )
    for number, short in ((40, False), (41, True)):
        found = names_of(items={"0": "word " * number}, data={"clicks": clicks})
        assert ("tfidf_short_clicks" in found, "tfidf_short" in found) == (short, short)
    for days, halved in ((30, []), (31, ["memory_30_days"]), (91, ["memory_30_days", "memory_90_days"])):
        dated = [("a", "0", 1.0, 1e9), ("b", "0", 1.0, 1e9 + days * SECONDS_PER_DAY)]
        assert [name for name in names_of(data={"clicks": dated}) if name.endswith("_days")] == halved
    encoder = FunctionEncoder(lambda texts: np.ones((len(texts), 4), np.float32), dim=4, name="ones")
    codes = ["codes_32", "codes_64"]
    assert names_of(encoder=encoder) == [*words, "vectors", *codes]
    assert names_of(encoder=encoder, data={"clicks": clicks})[-7:] == [
        "vectors", "vectors_clicks", "vectors_moved", "codes_32_clicks", "codes_64_clicks", *codes,
    ]  # fmt: skip
    found = proposed(Dataset.of({"0": "x"}, clicks=clicks))
    assert {name for name, one in found.items() if one.learns} == {"tokens", *learned, *memories, "tree"}
    assert found["memory_sure"].recipe.settings == {"prior": 1.0}
    assert found["bm25_clicks"].bases == ["bm25"] and found["tfidf_clicks"].bases == ["tfidf"]
    assert not proposed(Dataset.of({"0": "word " * 50}, clicks=clicks))["tfidf_short"].enters


def test_latent_semantic_analysis_needs_as_many_items_as_dimensions():
    data = Dataset.of({str(n): f"item {n} of {n % 7}" for n in range(LSA_DIMENSIONS - 1)})
    needs = {"vectors": Candidate("vectors", "vectors", Recipe.of("dense", encoder=None))}
    assert own_encoder(data, needs) == {} and "vectors" not in proposed(data)


def test_a_workshop_builds_each_candidate_once_and_settles_what_it_chose():
    data = Dataset.of({"f": "a fig", "p": "a pear"}, clicks=[("sweet", "f")])
    shop = Workshop(data, proposed(data))
    first = shop.built("bm25_clicks")
    assert shop.built("bm25_clicks") is first and "bm25" in shop and "tree" not in shop
    assert shop.settled("bm25_short").settings.items() >= {"k1": 0.9, "b": 0.4}.items()
    assert shop.settled("bm25_clicks").settings["base"] == "bm25"
    assert "bm25" not in shop.emptied() and shop.emptied().dataset is data


# Signals, depths of re-ranking, and sums.


def ranked_hits(rows):
    offsets = np.cumsum([0, *map(len, rows)])
    items = np.array([item for row in rows for item, _ in row], np.int32)
    return Candidates(offsets, items, np.array([score for row in rows for _, score in row], np.float32))


def test_the_spread_of_lists_is_the_median_of_their_first_ten():
    rows = [[(n, 20.0 - n) for n in range(15)], [(0, 4.0), (1, 2.0)], [(0, 9.0), (3, 3.0)], [(5, 7.0)], []]
    found = ranked_hits(rows)
    assert _spread(found, found.scores.astype(float)) == pytest.approx(np.median([np.arange(10).std(), 1.0, 3.0]))
    for alone in ([[(0, 3.0)]], [[]], [[(0, 2.0), (1, 2.0)]]):
        assert _spread(ranked_hits(alone), ranked_hits(alone).scores.astype(float)) == 1.0
    turned = _ranked(ranked_hits([[(0, 3.0), (1, 2.0)], [(4, 5.0), (2, 4.0), (3, 3.0)]]), np.array([1.0, 2, 7, 7, 8]))
    assert turned.items.tolist() == [1, 0, 3, 2, 4] and turned.offsets.tolist() == [0, 2, 5]


def test_the_signal_and_the_weight_that_help_most_join_and_only_what_surely_helps():
    names = [f"i{n}" for n in range(30)]
    queries = {f"t{row}": {"i0": 4.0, f"i{row + 1}": 2.0} for row in range(12)}
    table = TableRetriever(queries, names)
    searches = searches_of([[row + 1] for row in range(12)])  # the second of each list is what was clicked
    good, bad = np.ones(30, np.float32), np.zeros(30, np.float32)
    good[0], bad[0] = 0.0, 1.0
    some = np.where(np.arange(30) < 7, good, 0).astype(np.float32)  # it helps half of the searches
    made = {name: Signal(table.items, values, name) for name, values in (("bad", bad), ("some", some), ("good", good))}
    plan = SearchPlan("bm25", ("bm25",))
    # Lists of 4 and 2 have a spread of 1: weights of .1 to 1 do not reach 2.
    assert best_signal(plan, table, made, searches) is None and best_signal(plan, table, {}, searches) is None
    near = TableRetriever({q: {i: 3.0 if s == 4 else 2.5 for i, s in row.items()} for q, row in queries.items()}, names)
    assert best_signal(plan, near, made, searches) is None  # a spread of .25, and .25 does not reach .5
    deep = {q: {**row, **{f"i{n}": 2.0 - n for n in range(20, 28)}} for q, row in queries.items()}
    found = best_signal(plan, TableRetriever(deep, names), made, searches)
    spread = np.array([4.0, 2.0, *(2.0 - n for n in range(20, 28))]).std()
    assert found == SearchPlan(f"bm25.scaled() + {decimal_text(0.25 * spread)}*good", ("bm25", "good"))
    joined = best_signal(SearchPlan("a + b", ("a", "b")), TableRetriever(deep, names), made, searches)
    assert joined.expression.startswith("a + b + ") and joined.parts == ("a", "b", "good")
    assert best_signal(plan, TableRetriever(deep, names), {"bad": made["bad"]}, searches) is None


def test_signals_of_eight_fields_at_most():
    rows = [{"id": str(n), "text": "x", **{f"n{at}": n + at for at in range(12)}} for n in range(3)]
    found = signal_candidates(Dataset.of(rows))
    assert list(found) == [f"signal_{number}" for number in range(1, 17)] and not any(o.enters for o in found.values())
    settings = [one.recipe.settings for one in found.values()]
    assert settings[:2] == [{"field": "n0", "shape": "log"}, {"field": "n0", "shape": "inverse"}]
    dated = Dataset.of([{"id": "a", "text": "x", "day": "2025-01-01"}, {"id": "b", "text": "x", "day": "2025-02-01"}])
    assert [one.recipe.settings["half_life_days"] for one in signal_candidates(dated).values()] == [30.0, 365.0]


def test_plans_of_re_ranking():
    plan = SearchPlan("a + b", ("a", "b"))
    assert [one.expression for one in reranked_plans(plan)] == [
        f"((a + b) % {depth}).rerank(scorer, depth={depth})" for depth in (10, 20, 50)
    ]
    assert next(reranked_plans(plan)).parts == ("a", "b") and not plan.simple


@settings(max_examples=40)
@given(st.lists(st.integers(0, 10).map(lambda n: n / 10), min_size=2, max_size=4), st.sampled_from([0.1, 0.04]))
def test_moved_weights_keep_their_sum_and_the_proportions_of_the_others(weights, step):
    total = sum(weights)
    if max(weights) == total:
        return
    weights = tuple(weight / total for weight in weights)
    found = _moved(weights, step)
    wanted = []
    for at, weight in enumerate(weights):
        for share in (weight - step, weight + step):
            if weight > 0 and 0 < share < 1:
                wanted.append([share if n == at else w * (1 - share) / (1 - weight) for n, w in enumerate(weights)])
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one == pytest.approx(other, abs=1e-4) and sum(one) == pytest.approx(1, abs=1e-3)
    assert _with((0.25, 0.0, 0.75), 1, 0.2) == (0.2, 0.2, 0.6)


def test_a_plan_says_how_its_parts_are_brought_to_one_scale():
    names = [f"i{n}" for n in range(6)]
    one = TableRetriever({f"t{n}": {f"i{n}": 2.0, "i5": 1.0} for n in range(4)}, names, scale="points")
    other = TableRetriever({f"t{n}": {"i5": 8.0, f"i{n}": 6.0} for n in range(4)}, names, scale="others")
    clicks = Dataset.of({name: name for name in names}, clicks=[("x", "i5")])
    pool = PartPool({"one": one, "other": other}, searches_of([[n] for n in range(4)], items=6), clicks)
    chain = pool.grown()
    assert [list(trial.used) for trial in chain] == [[0]]
    assert pool.plan(chain[0]) == SearchPlan("one", ("one",))
    both = chain[0]._replace(how="zscore", weights=(0.75, 0.25))
    assert pool.plan(both).expression == "0.75*one.normalized('zscore') + 0.25*other.normalized('zscore')"
    linear = both._replace(how="linear", lift=0.5)
    slopes = [decimal_text(pool.pool.rules[at]["linear"].slope) for at in (0, 1)]
    assert pool.plan(linear).expression == (
        f"0.75*one.scaled('linear', slope={slopes[0]}) + 0.25*other.scaled('linear', slope={slopes[1]}) + 0.5*new_items"
    )
    assert pool.plan(linear).parts == ("one", "other")


# What is said of a log, and of losses.


def test_a_log_in_figures_and_in_words():
    items = [
        {"id": "a", "title": "Fig", "text": "", "price": 2, "brand": "x"},
        {"id": "b", "title": "", "text": "a fig", "price": 3, "brand": "y"},
        {"id": "c", "title": "", "text": "a fig", "price": None, "brand": "y"},
        {"id": "d", "title": "", "text": "a fig", "price": 4, "brand": "y"},
    ]
    clicks = {"q1": {"a": 2, "b": 1}, "q2": {"b": 3}, "q3": {"b": 1}}
    plain = LogSummary.of(Dataset.of(items, queries={"q1": "x", "q2": "y", "q3": "x", "q4": "z"}, clicks=clicks))
    assert (plain.items, plain.searches, plain.texts, plain.clicks) == (4, 3, 2, 7)
    assert (plain.untitled, plain.empty, plain.duplicates, plain.clicked_items) == (3, 0, 2, 2)
    assert plain.fields == {"brand": "text", "price": "number"} and (plain.first, plain.last, plain.days) == (
        "",
        "",
        0.0,
    )
    assert plain.lines[0] == "4 items, 3 without a title, 0 without text, 2 twice; fields brand (text), price (number)"
    assert plain.lines[1] == "7 clicks of 2 different queries on 2 items, without times"
    assert plain.repeated + plain.warm + plain.cold == pytest.approx(1) and plain.to_dict()["lines"] == plain.lines
    dated = [("x", "a", 5.0, 1e9), ("y", "a", 1.0, 1e9 + 1.26 * SECONDS_PER_DAY)]
    timed = LogSummary.of(Dataset.of(items, clicks=dated))
    assert (timed.clicks, timed.first, timed.last, timed.days) == (2, "2001-09-09", "2001-09-10", 1.3)
    assert timed.lines[1] == "2 clicks of 2 different queries on 1 items, 2001-09-09 to 2001-09-10"
    none = LogSummary.of(Dataset.of({"a": "fig"}))
    assert none.lines == ["1 items, 1 without a title, 0 without text, 0 twice", "no clicks"] and none.texts == 0


def step(name, gain, low, quality=0.5):
    return LossStep(name, quality, gain, low, 2 * gain - low)


@pytest.mark.parametrize(
    ("steps", "advice"),
    [
        ([step("depth", 0.2, 0.0)], "Nothing is surely lost on the way: the 0.500 that are missing are the model's."),
        ([step("depth", 0.2, 0.1), step("codes", 0.3, 0.1)], "Change codes first: its exact twin gives 0.300 more."),
        ([step("depth", 0.2, 0.1), step("codes", 0.3, -0.1)], "Change depth first: its exact twin gives 0.200 more."),
        ([step("depth", 0.0499, 0.01)], "depth costs 0.050, little beside the 0.500 that the model loses."),
        ([step("depth", 0.05, 0.01)], "Change depth first: its exact twin gives 0.050 more."),
    ],
)
def test_advice_names_the_largest_sure_loss(steps, advice):
    found = Diagnosis("x", 9, [step("as it is", 0.0, 0.0), *steps])
    assert found.advice == advice and found.model_loss == 0.5
    lines = found.to_markdown().splitlines()
    assert (
        lines[2] == "| as it is | 0.500 |  |"
        and lines[-3] == "| the model itself | 1 | +0.500 |"
        and lines[-1] == advice
    )
    first = steps[0]
    assert lines[3] == f"| depth | 0.500 | {first.gain:+.3f} ({first.low:+.3f} to {first.high:+.3f}) |"


def test_switches_deepen_and_widen_ten_times_within_the_catalog():
    names = [f"i{n}" for n in range(300)]
    table = TableRetriever({"q": {"i1": 1.0}}, names, scale="a")
    for made, depths in (
        (lambda depth: table.union(table, depth=depth), {2: 20, 30: 300, 100: 300}),
        (lambda depth: table.plus(2 * table, depth=depth), {2: 20, 299: 300}),
        (lambda depth: table.rerank(table, depth=depth), {2: 20, 299: 300}),
    ):
        for depth, wanted in depths.items():
            assert _deeper(made(depth))._options()["depth"] == wanted
        whole = made(300)
        assert _deeper(whole) is whole
    assert _deeper(table % 7)._options()["k"] == 70 and _deeper(table) is table
    assert _larger_budget(table) is table


def test_queries_of_a_diagnosis_are_those_with_relevant_items_of_the_retriever():
    data = Dataset.of({"f": "a fig", "p": "a pear"}, queries={"q": "fig", "r": "pear", "s": "plum"},
                      qrels={"q": {"f": 1, "p": 0}, "r": {"p": 2}, "s": {"p": 0}})  # fmt: skip
    assert diagnose(bm25(data), data).queries == 2 and diagnose(bm25({"p": "a pear"}), data).queries == 1
    assert diagnose(bm25(data), data).steps[0].quality == 1.0
    turned = bm25({"p": "a pear", "f": "a fig"})  # other numbers for the same ids
    assert diagnose(turned, data).steps[0].quality == 1.0
