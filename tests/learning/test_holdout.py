"""What is held out, nothing that learns from the rest has seen."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla.data.dataset import Dataset
from vizsla.learning.query_mix import Mix, TextLog, predicted_mix
from vizsla.learning.splits import TooFewClicksError, draw_holdout

DAY = 86400


def log() -> Dataset:
    pick = np.random.default_rng(3)
    items = {f"i{n}": f"item {n}" for n in range(60)}
    queries = {f"q{n}": f"text {n % 300}" for n in range(400)}  # a hundred texts are asked by two queries
    clicks = [(query, f"i{pick.integers(60)}", float(pick.integers(1, 4)) + 0.5) for query in queries for _ in range(2)]
    return Dataset.of(items, queries=queries, clicks=clicks)


def texts_with_clicks(dataset: Dataset) -> set[str]:
    rows = np.flatnonzero(np.diff(dataset.clicks.tocsr().indptr))
    every = dataset.query_texts()[1]
    return {every[row] for row in rows}


def items_of(fold, row: int) -> np.ndarray:
    return fold.wanted.indices[fold.wanted.indptr[row] : fold.wanted.indptr[row + 1]]


@pytest.mark.parametrize("seed", range(3))
def test_new_texts_have_no_click_left_whichever_query_asks_them_and_repeated_ones_have(seed):
    fold = draw_holdout(log(), seed=seed)
    assert len(fold.texts) == len(set(fold.texts)) == fold.wanted.shape[0]
    assert set(fold.kinds) == {"repeated", "warm", "cold"}
    left = texts_with_clicks(fold.train)
    for text, kind in zip(fold.texts, fold.kinds, strict=True):
        assert (text in left) == (kind == "repeated")


@pytest.mark.parametrize("seed", range(3))
def test_cold_texts_have_items_without_clicks_and_warm_ones_items_with(seed):
    fold = draw_holdout(log(), seed=seed)
    left = np.asarray(fold.train.clicks.sum(axis=0)).ravel()
    for row, kind in enumerate(fold.kinds):
        if kind != "repeated":
            assert (left[items_of(fold, row)] == 0).all() if kind == "cold" else (left[items_of(fold, row)] > 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_every_click_is_learned_from_or_held_out_or_on_a_cold_item(seed):
    """What is judged by and what is learned from never share a click, of repeated texts neither."""
    dataset, fold = log(), draw_holdout(log(), seed=seed)
    every, clicks, train = np.array(dataset.query_texts()[1]), dataset.clicks.toarray(), fold.train.clicks.toarray()
    cold_items = np.unique(np.concatenate([items_of(fold, row) for row in np.flatnonzero(fold.cold)]))
    for row, text in enumerate(fold.texts):
        rows = np.flatnonzero(every == text)
        gone = clicks[rows] - train[rows]
        gone[:, cold_items] = 0
        wanted = np.zeros(clicks.shape[1], bool)
        wanted[items_of(fold, row)] = True
        wanted[cold_items] = False
        assert np.array_equal(gone.sum(axis=0) > 0, wanted)
        if fold.kinds[row] == "repeated":  # one of the queries is out as a whole, the other stays
            assert sorted((gone > 0).any(axis=1).tolist()) in ([False, True], [False, False])
    others = ~np.isin(every, fold.texts)
    others_gone = (clicks - train)[others]
    others_gone[:, cold_items] = 0
    assert not others_gone.any()


def counted() -> Dataset:
    """A log without queries of their own: clicks of one text are added up."""
    clicks = [(f"text {n}", f"i{n % 20}") for n in range(100)]
    often = [(f"often {n}", f"i{n % 20}") for n in range(40) for _ in range(3)]
    return Dataset.of({f"i{n}": f"item {n}" for n in range(20)}, clicks=[*clicks, *often])


def test_a_click_of_a_text_that_was_counted_several_times_is_taken_once():
    dataset, fold = counted(), draw_holdout(counted())
    repeated = np.flatnonzero(fold.kinds == "repeated")
    assert len(repeated) > 5
    names = list(dataset.query_texts()[1])
    for row in repeated:
        at, [item] = names.index(fold.texts[row]), items_of(fold, row)
        assert dataset.clicks.toarray()[at, item] == 3
        assert fold.train.clicks.toarray()[at, item] == 2


def timed(*, repeats: int, warm: int, cold: int) -> Dataset:
    """A log of 900 clicks on 300 items, then a tenth as many again: of known texts, on known items, on new ones."""
    early = [(f"early {n}", f"i{n % 300}", 1, n * 100) for n in range(900)]
    late = [(f"early {n}", f"i{n % 300}") for n in range(repeats)]
    late += [(f"late {n}", f"i{n % 300}") for n in range(warm)]
    late += [(f"new {n}", f"n{n}") for n in range(cold)]
    items = {f"i{n}": "item" for n in range(300)} | {f"n{n}": "new item" for n in range(100)}
    return Dataset.of(items, clicks=[*early, *((*pair, 1, 10 * DAY + at) for at, pair in enumerate(late))])


@pytest.mark.parametrize("counts", [(50, 30, 20), (10, 10, 80), (0, 100, 0)])
def test_the_latest_clicks_tell_the_mix(counts):
    repeats, warm, cold = counts
    mix = predicted_mix(timed(repeats=repeats, warm=warm, cold=cold))
    assert mix == pytest.approx((repeats / 102, (warm + 1) / 102, (cold + 1) / 102, "times"))


def test_without_times_each_search_is_left_out_in_turn():
    clicks = [("twice", "a"), ("twice", "a"), ("one", "b"), ("other", "b"), ("new", "c"), ("newer", "d")]
    mix = predicted_mix(Dataset.of({item: item for item in "abcd"}, clicks=clicks))
    assert mix == pytest.approx((2 / 8, 3 / 8, 3 / 8, "log"))
    graded = Dataset.of({"a": "fig"}, queries=["x", "y"], qrels={"train": {"0": {"0": 2}, "1": {"0": 3}}})
    assert predicted_mix(graded).repeated == 0  # a grade counts no searches


def test_several_items_of_one_search_are_one_search():
    """Two clicks on one item are two searches; one click on each of three items may be one."""
    clicks = [
        ("three", "a"),
        ("three", "b"),
        ("three", "c"),
        ("one", "d"),
        ("other", "d"),
        ("twice", "e"),
        ("twice", "e"),
    ]
    mix = predicted_mix(Dataset.of({item: item for item in "abcde"}, clicks=clicks))
    assert mix == pytest.approx((2 / 7, 3 / 7, 2 / 7, "log"))


def test_a_text_that_is_asked_again_is_repeated_whatever_item_it_is_about():
    early = [(f"early {n}", f"i{n}", 1, n) for n in range(900)]
    late = [(f"early {n}", f"new {n}", 1, 10_000 + n) for n in range(60)]
    late += [(f"late {n}", f"new {n}", 1, 20_000 + n) for n in range(30)]
    late += [(f"later {n}", f"i{n}", 1, 30_000 + n) for n in range(10)]
    items = {f"i{n}": "item" for n in range(900)} | {f"new {n}": "new item" for n in range(60)}
    mix = predicted_mix(Dataset.of(items, clicks=[*early, *late]))
    assert mix == pytest.approx((60 / 102, 11 / 102, 31 / 102, "times"))


def test_a_share_that_is_given_leaves_the_others_their_proportion():
    mix = predicted_mix(timed(repeats=50, warm=24, cold=26), cold=0.4)
    assert mix == pytest.approx((0.4, 0.2, 0.4, "given"))
    assert Mix(0.0, 0.0, 1.0).with_cold(0.25).shares == {"repeated": 0.0, "warm": 0.75, "cold": 0.25}


def test_the_last_search_of_a_repeated_text_is_held_out_with_its_times():
    dataset = timed(repeats=60, warm=30, cold=10)
    fold = draw_holdout(dataset)
    texts = np.array(dataset.query_texts()[1])
    repeated = {text for text, kind in zip(fold.texts, fold.kinds, strict=True) if kind == "repeated"}
    assert len(repeated) > 10
    assert fold.train.events is not None
    for row in np.flatnonzero(np.isin(texts, list(repeated))):
        times = fold.train.events.times[fold.train.events.queries == row]
        assert len(times) == 1
        assert times[0] < 10 * DAY  # of two searches the later one is out
    assert fold.train.clicks.sum() == len(fold.train.events.times)


@pytest.mark.parametrize("times", [False, True])
@pytest.mark.parametrize("several", [1, 2, 3, 6])
def test_at_least_half_of_the_repeated_texts_stay_whole_however_few_there_are(several, times):
    """What learns from the rest must meet each kind of query that it is judged by."""
    clicks = [(f"text {n}", f"i{n % 20}") for n in range(100)]
    clicks += [(f"often {n}", f"i{n % 20}") for _ in range(2) for n in range(several)]
    if times:
        clicks = [(*pair, 1, 100 * at) for at, pair in enumerate(clicks)]
    dataset = Dataset.of({f"i{n}": f"item {n}" for n in range(20)}, clicks=clicks)
    fold = draw_holdout(dataset)
    taken = {text for text, kind in zip(fold.texts, fold.kinds, strict=True) if kind == "repeated"}
    assert 0 < len(taken) <= (several + 1) // 2
    whole = np.asarray(dataset.clicks.sum(axis=1)).ravel(), np.asarray(fold.train.clicks.sum(axis=1)).ravel()
    for text, before, left in zip(dataset.query_texts()[1], *whole, strict=True):
        if text in taken:
            assert (before, left) == (2, 1)


def test_a_log_without_cold_texts_gives_warm_ones():
    clicks = [(f"text {n}", "a") for n in range(50)]
    fold = draw_holdout(Dataset.of({"a": "fig", "b": "pear"}, clicks=clicks))
    assert len(fold.texts) == 10
    assert not fold.cold.any()


def test_too_few_clicks_are_refused():
    with pytest.raises(TooFewClicksError, match="Got 1"):
        draw_holdout(Dataset.of(["fig"], clicks=[("a", "0")]))


class _Counted(np.ndarray):
    """An array that counts how often many of its entries are taken at once."""

    taken = 0

    def __getitem__(self, at):
        type(self).taken += isinstance(at, np.ndarray)
        return np.asarray(super().__getitem__(at))


def test_holding_out_repeated_texts_takes_the_whole_log_a_fixed_number_of_times():
    def takes(texts: int) -> int:
        log = [(f"query {n} {n % texts}", f"i{n % 7}") for n in range(texts)] * 2
        whole = TextLog.of(Dataset.of({f"i{n}": f"item {n}" for n in range(7)}, clicks=log))
        _Counted.taken = 0
        counted = whole._replace(number=whole.number.view(_Counted))
        counted._of_rows(np.arange(texts), np.random.default_rng(0))
        return _Counted.taken

    assert takes(20) == takes(200)
