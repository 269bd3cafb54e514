"""Splits of a log and the statistics of searches, against hand-computed truth."""

from __future__ import annotations

import numpy as np
import pytest

from tests.autopilot.made_log import made_log
from vizsla.autopilot.searches import Searches, newest_clicks, split_log
from vizsla.data.dataset import SECONDS_PER_DAY, Dataset
from vizsla.learning.query_mix import Mix
from vizsla.methods.bm25 import bm25


@pytest.fixture(scope="module")
def dated():
    return made_log()


def searches_of(texts, items, wanted):
    from scipy.sparse import csr_array

    rows = [row for row, each in enumerate(wanted) for _ in each]
    matrix = csr_array(
        (np.ones(len(rows), np.float32), (rows, [item for each in wanted for item in each])),
        shape=(len(texts), items),
    )
    return Searches(texts, matrix, np.array(["warm"] * len(texts)), Mix(0.0, 1.0, 0.0, "times"))


def test_the_parts_follow_each_other_in_time(dated):
    splits = split_log(dated)
    times = np.sort(dated.events.times)
    assert splits.by == "time"
    assert len(splits.choose) == len(splits.report) == 200
    assert splits.learn.events.times.max() < times[1600]
    assert splits.before_report.events.times.max() < times[1800]
    assert len(splits.learn.events.times) == 1600


def test_repeated_searches_stay_as_they_came(dated):
    report = split_log(dated).report
    texts = [query.text for query in dated.queries]
    order = np.argsort(dated.events.times, kind="stable")
    wanted = [texts[row] for row in dated.events.queries[order][-200:].tolist()]
    assert sorted(report.texts) == sorted(wanted)
    earlier = {texts[row] for row in dated.events.queries[order][:-200].tolist()}
    assert [kind == "repeated" for kind in report.kinds] == [text in earlier for text in report.texts]


def test_a_log_without_times_is_split_by_query():
    splits = split_log(made_log(times=False))
    assert splits.by == "query"
    assert set(splits.report.kinds) & {"warm", "repeated"}
    assert abs(splits.report.weights.sum() - 1) < 1e-9


def test_cold_searches_ask_for_items_without_a_click():
    log = [("word", "0", 1.0, SECONDS_PER_DAY * at) for at in range(1000)]
    log += [(f"new {at}", "1", 1.0, SECONDS_PER_DAY * (1000 + at)) for at in range(100)]
    report = split_log(Dataset.of({"0": "word", "1": "other"}, clicks=log)).report
    assert set(report.kinds[[text.startswith("new") for text in report.texts]].tolist()) == {"cold"}


def test_the_measure_is_that_of_evaluate(dated):
    from vizsla.evaluation import evaluate

    report = split_log(dated).report
    search = bm25(dated)
    values = report.measure(report.answers(search))
    rows = {str(at): report.texts[at] for at in range(len(report))}
    qrels = {
        str(at): {dated.item_ids[int(item)]: 1 for item in report.wanted[[at]].indices} for at in range(len(report))
    }
    judged = Dataset.of(list(dated.items), queries=rows, qrels=qrels)
    theirs = evaluate(search, judged, measures=["nDCG@10"], latency_queries=0)
    np.testing.assert_allclose(values, theirs.per_query["nDCG@10"], atol=1e-6)


def test_searches_of_one_text_are_one_observation():
    texts = ["a"] * 50 + ["b"] * 50
    searches = searches_of(texts, 1, [[0]] * 100)
    values = np.array([1.0] * 50 + [0.0] * 50)
    found = searches.interval(values)
    assert found.mean == 0.5
    # Two clusters, each .5 from the mean with a weight of a half: their sums are ±.25.
    assert found.error == pytest.approx(np.sqrt(2 * 0.25**2 * 2 / 1))


def test_the_interval_of_different_texts_is_the_usual_one():
    values = np.random.default_rng(0).random(40)
    searches = searches_of([str(at) for at in range(40)], 1, [[0]] * 40)
    found = searches.interval(values)
    assert found.error == pytest.approx(values.std(ddof=1) / np.sqrt(40))


def test_the_newest_clicks_are_kept(dated):
    few = newest_clicks(dated, 100)
    assert len(few.events.times) == 100
    assert few.events.times.min() > np.sort(dated.events.times)[-102]


def test_few_texts_make_wide_intervals():
    one = searches_of(["a"] * 100, 2, [[0]] * 100)
    gains = np.array([0.1] * 51 + [-0.1] * 49)
    assert not one.interval(gains).significant and one.interval(gains).low < -1
    three = searches_of(["a", "b", "c"], 2, [[0]] * 3)
    found, values = three.interval(np.array([0.1, 0.2, 0.3])), np.array([0.1, 0.2, 0.3])
    half = 4.302653 * values.std(ddof=1) / np.sqrt(3)  # Student's t with two degrees of freedom
    assert found.low == pytest.approx(0.2 - half, abs=1e-5) and found.high == pytest.approx(0.2 + half, abs=1e-5)
