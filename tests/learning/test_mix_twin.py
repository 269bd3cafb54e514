"""The mix of queries that a log predicts, and searches taken out of it, against loops over single clicks."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.learning.query_mix import MIN_LATE_SEARCHES, Mix, TextLog, predicted_mix, searches_of_rows, text_numbers

ITEMS = {str(n): f"item {n}" for n in range(4)}
TEXTS = st.sampled_from(["red", "green", "blue", "pink"])
LOGS = st.lists(
    st.tuples(TEXTS, st.dictionaries(st.sampled_from(list(ITEMS)), st.sampled_from([1, 1, 2, 3]), max_size=3)),
    min_size=1, max_size=6,
).filter(lambda log: any(row for _, row in log))  # fmt: skip


def dataset_of(log):
    queries = {f"q{n}": text for n, (text, _) in enumerate(log)}
    return Dataset.of(ITEMS, queries=queries, clicks={f"q{n}": row for n, (_, row) in enumerate(log) if row})


def shares(repeated, warm, cold):
    total = repeated + warm + cold + 2
    return pytest.approx((repeated / total, (warm + 1) / total, (cold + 1) / total))


def left_out(log):
    """Leave each search out in turn: its text may be asked by another, and its items clicked for another text."""
    searches: Counter[str] = Counter()
    clicked: dict[str, set[str]] = {}
    for text, row in log:
        searches[text] += max(row.values(), default=0)  # as many searches as one item has clicks
        clicked.setdefault(text, set()).update(row)
    counts = Counter()
    for text, count in searches.items():
        others = set().union(*(items for other, items in clicked.items() if other != text))
        kind = "repeated" if count > 1 else "warm" if clicked[text] & others else "cold"
        counts[kind] += count
    return shares(counts["repeated"], counts["warm"], counts["cold"])


@settings(max_examples=60)
@given(LOGS)
@example([("red", {"0": 1}), ("red", {"0": 1}), ("green", {"1": 1})])  # two queries of one text, one item
@example([("red", {"0": 1, "1": 1}), ("green", {"1": 1}), ("blue", {"2": 1}), ("pink", {})])
@example([("red", {"0": 3}), ("green", {"0": 1}), ("red", {"1": 1})])
def test_a_log_without_times_is_left_out_search_by_search(log):
    data = dataset_of(log)
    found = predicted_mix(data)
    assert found[:3] == left_out(log) and found.source == "log" and sum(found[:3]) == pytest.approx(1)
    assert searches_of_rows(data).tolist() == [max(row.values(), default=0) for _, row in log]
    names, numbers = text_numbers(data)
    assert [names[at] for at in numbers] == [text for text, _ in log] and len(set(names)) == len(names)


@pytest.mark.parametrize("weight", [0.5, 2.5])
def test_weights_that_are_no_counts_count_one_search_each(weight):
    data = dataset_of([("red", {"0": weight, "1": 4}), ("green", {"0": 1}), ("blue", {})])
    assert searches_of_rows(data).tolist() == [1, 1, 0]


def timed(log):
    return Dataset.of(ITEMS, clicks=[(text, item, 1.0, float(time)) for text, item, time in log])


def by_time(log):
    """The latest tenth of the clicks by those before; searches are texts at a moment."""
    times = sorted(time for _, _, time in log)
    moment = times[min(len(times) - 1, round(0.9 * len(times)))]
    early = [click for click in log if click[2] < moment]
    late = [click for click in log if click[2] >= moment]
    asked, clicked = {text for text, _, _ in early}, {item for _, item, _ in early}
    searches: dict[tuple[str, int], set[str]] = {}
    for text, item, time in late:
        searches.setdefault((text, time), set()).add(item)
    if len(searches) < MIN_LATE_SEARCHES or not early:
        return None
    kinds = Counter(
        "repeated" if text in asked else "warm" if items & clicked else "cold" for (text, _), items in searches.items()
    )
    return shares(kinds["repeated"], kinds["warm"], kinds["cold"])


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(200, 500), st.integers(1, 4))
def test_a_log_with_times_shows_its_latest_tenth(seed, count, clicks_a_moment):
    rng = np.random.default_rng(seed)
    items = [rng.integers(4 if at > count * 0.8 else 2) for at in range(count)]
    log = [(f"text {rng.integers(1 + at // 4)}", str(item), at // clicks_a_moment) for at, item in enumerate(items)]
    wanted = by_time(log)
    found = predicted_mix(timed([log[at] for at in rng.permutation(count)]))
    if wanted is None:
        assert found.source == "log"
    else:
        assert found[:3] == wanted and found.source == "times"


@pytest.mark.parametrize(("searches", "source"), [(MIN_LATE_SEARCHES - 1, "log"), (MIN_LATE_SEARCHES, "times")])
def test_so_many_late_searches_are_enough(searches, source):
    early = [("red", "0", n) for n in range(9 * searches)]
    late = [(f"new {n}", "1", 10_000 + n) for n in range(searches)]
    found = predicted_mix(timed([*early, *late]))
    assert found.source == source
    if source == "times":  # none repeats, none of the items had clicks
        assert found[:3] == shares(0, 0, searches)
    assert predicted_mix(timed([("red", "0", 5)] * 400)).source == "log"  # a single moment is no order


@pytest.mark.parametrize("cold", [0.0, 0.25, 1.0])
def test_a_given_share_of_cold_queries_keeps_the_proportion_of_the_others(cold):
    data = dataset_of([("red", {"0": 3}), ("green", {"0": 1}), ("blue", {"1": 1})])
    free, fixed = predicted_mix(data), predicted_mix(data, cold)
    assert fixed.cold == cold and sum(fixed[:3]) == pytest.approx(1)
    assert fixed.repeated * free.warm == pytest.approx(fixed.warm * free.repeated)
    assert Mix(0.0, 0.0, 1.0).with_cold(0.25)[:3] == (0.0, 0.75, 0.25)
    for wrong in (-0.1, 1.1, "much", True):
        with pytest.raises(InputError):
            predicted_mix(data, wrong)


@settings(max_examples=60)
@given(LOGS, st.integers(0, 4), st.integers(0, 99))
@example([("red", {"0": 2, "1": 2}), ("green", {"2": 1}), ("green", {"2": 1, "3": 2})], 2, 0)
def test_what_is_taken_out_and_what_is_left_make_up_the_log(log, count, seed):
    whole = TextLog.of(dataset_of(log))
    found = whole.without_searches(count, seed)
    several = [text for text, own in searches_by_text(log).items() if own > 1]
    assert len(found.held) == (min(count, (len(several) + 1) // 2) if several else 0)
    assert {found.texts[text] for text in found.held} <= set(several)
    before, after = whole.by_text.toarray(), found.by_text.toarray()
    for number, text in enumerate(found.texts):
        taken = found.held.get(number, [])
        rows = [row for other, row in log if other == text and row]
        if not taken:
            assert (before[number] == after[number]).all()
        elif len(rows) > 1:  # one query of the text went, with all of its clicks
            gone = [before[number] - after[number]]
            assert any(gone[0].tolist() == [row.get(str(item), 0) for item in range(4)] for row in rows)
            assert sorted(taken) == np.flatnonzero(gone[0]).tolist()
        else:  # a single click of the only query
            gone = before[number] - after[number]
            assert gone.sum() == 1 and taken == np.flatnonzero(gone).tolist()
    again = whole.without_searches(count, seed)
    assert again.held == found.held and (again.clicks != found.clicks).nnz == 0
    wanted = found.clicks_of([0], sorted(found.held)).toarray()
    assert (wanted[0] == after[0]).all()
    for row, text in zip(wanted[1:], sorted(found.held), strict=True):
        assert row.tolist() == [float(found.held[text].count(item)) for item in range(4)]


def searches_by_text(log):
    searches: Counter[str] = Counter()
    for text, row in log:
        searches[text] += max(row.values(), default=0)
    return searches


def test_the_last_search_of_a_text_with_times_is_taken_out_with_all_of_its_clicks():
    log = [("red", "0", 1), ("red", "1", 5), ("red", "2", 5), ("green", "3", 9), ("green", "3", 9), ("blue", "0", 2), ("blue", "0", 3)]  # noqa: E501  # fmt: skip
    whole = TextLog.of(timed(log))
    found = whole.without_searches(9, 0)  # half of the repeated texts, rounded up: one of red and blue
    (text,) = found.held
    name = found.texts[text]
    assert sorted(found.held[text]) == {"red": [1, 2], "blue": [0]}[name]
    left = {"red": [1.0], "blue": [2.0]}[name]
    own = [number for number, query in enumerate(found.dataset.queries) if query.text == name]
    kept = found.events.times[np.isin(found.events.queries, own)]
    assert kept.tolist() == left and len(found.events.times) == len(log) - len(found.held[text])
    assert found.clicks.sum() == len(found.events.times)
    assert whole.without_searches(0, 0) is whole
    once = TextLog.of(timed([("red", "0", 1), ("red", "1", 1), ("green", "0", 2)]))
    assert once.without_searches(3, 0) is once  # two clicks at one moment are one search


def test_searches_of_neighboring_texts_at_the_first_and_the_last_moment_are_not_one():
    early = [("early", "0", n) for n in range(360)]
    late = [(text, "1", 1000 + n) for n in range(10) for text in ("a", "b", "c", "d")]
    assert predicted_mix(timed([*early, *late]))[:3] == shares(0, 0, 40)
    whole = TextLog.of(timed([("a", "0", 1), ("b", "0", 2), ("c", "0", 1), ("d", "0", 2)]))
    assert whole.without_searches(4, 0) is whole  # each was asked once
