"""Pairs to train on, pools of held-out queries, and what a click log keeps: against loops over single queries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tests.support.table_retriever import TableRetriever
from vizsla.core.strings import Strings
from vizsla.errors import InputError
from vizsla.learning.clicks import ClickLog
from vizsla.learning.data import Positives
from vizsla.learning.negatives import SyntheticQueries, _top
from vizsla.learning.pairs import ContrastiveBatch, HeldOutPool, PairTrainingData, training_data_of
from vizsla.learning.selection import Choice, Choices
from vizsla.learning.splits import _damage

ITEMS = [f"i{number}" for number in range(9)]
CLICKS = [("fig", "i1", 3.0), ("fig", "i4", 1.0), ("pear", "i0", 1.0), ("plum", "i7", 2.0), ("plum", "i8", 2.0)]


def log_of(clicks=CLICKS):
    return ClickLog.of(clicks, Strings.of(ITEMS))


def data_of(confused):
    log = log_of()
    relevant = Positives.of(log.offsets, log.items, log.units.astype(np.float64))
    return PairTrainingData(log.texts, ITEMS, relevant, np.array(confused, np.int32))


def test_a_clicked_item_is_drawn_by_its_weight_and_negatives_from_the_hard_ones_first():
    data, random = data_of([[2, 3, 5, -1], [2, -1, -1, -1], [-1, -1, -1, -1]]), np.random.default_rng(0)
    drawn = np.array([data.drawn(np.array([0, 1, 2]), 3, random) for _ in range(600)])
    assert len(data) == 3 and drawn.shape == (600, 3, 4) and drawn.dtype == np.int32
    clicked = [{1, 4}, {0}, {7, 8}]
    for row, own in enumerate(clicked):
        assert set(drawn[:, row, 0].tolist()) == own
        assert not np.isin(drawn[:, row, 1:], list(own)).any()  # a clicked item is no negative
    assert (drawn[:, 0, 0] == 1).mean() == pytest.approx(0.75, abs=0.06)
    assert (drawn[:, 2, 0] == 7).mean() == pytest.approx(0.5, abs=0.07)
    assert all(set(negatives) == {2, 3, 5} for negatives in drawn[:, 0, 1:].tolist())  # as many hard ones as asked for
    assert len({tuple(negatives) for negatives in drawn[:, 0, 1:].tolist()}) == 6  # in any order
    assert (drawn[:, 1, 1] == 2).all() and set(drawn[:, 1, 2:].ravel().tolist()) == set(range(1, 9))
    assert set(drawn[:, 2, 1:].ravel().tolist()) == set(range(7))
    few = np.array([data.drawn(np.array([0]), 2, random)[0, 1:] for _ in range(200)])
    assert set(few.ravel().tolist()) == {2, 3, 5}
    everything = ClickLog.of([("fig", item, 1.0) for item in ITEMS[:2]], Strings.of(ITEMS[:2]))
    relevant = Positives.of(everything.offsets, everything.items, everything.units.astype(np.float64))
    alone = PairTrainingData(["fig"], ITEMS[:2], relevant, np.zeros((1, 0), np.int32))
    with pytest.raises(InputError, match="not clicked for a query"):
        alone.drawn(np.array([0]), 1, random)


def test_weights_of_float32_that_add_up_to_nearly_1_are_drawn_by():
    log = log_of([("fig", item, 1.0) for item in ITEMS[:3]])  # thirds
    relevant = Positives.of(log.offsets, log.items, log.units.astype(np.float64))
    data = PairTrainingData(["fig"], ITEMS, relevant, np.zeros((1, 0), np.int32))
    assert relevant.weights.astype(np.float64).sum() != 1
    drawn = data.drawn(np.zeros(300, np.int64), 1, np.random.default_rng(0))
    assert set(drawn[:, 0].tolist()) == {0, 1, 2}


def test_hard_negatives_are_a_retrievers_best_without_what_was_clicked():
    table = {"fig": {"i1": 9.0, "i2": 8.0, "i4": 7.0, "i3": 6.0}, "pear": {"i5": 1.0}, "plum": {"i8": 3.0, "i0": 2.0}}
    found = training_data_of(log_of(), ITEMS, TableRetriever(table, ITEMS), None, depth=3, threads=1)
    assert found.queries == ["fig", "pear", "plum"] and found.teacher is None
    wanted = [{2}, {5}, {0}]
    assert [{item for item in row if item >= 0} for row in found.confused.tolist()] == wanted
    assert found.relevant.items.tolist() == [[1, 4], [0, -1], [7, 8]]
    assert found.relevant.weights.tolist() == [[0.75, 0.25], [1, 0], [0.5, 0.5]]
    none = training_data_of(log_of(), ITEMS, None, None, depth=3, threads=1)
    assert none.confused.shape == (3, 0)


@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 10**6))
def test_columns_of_a_batch_are_its_own_items_then_all_negatives(count, width, seed):
    rng = np.random.default_rng(seed)
    numbers, items = rng.choice(3, count), rng.integers(0, 9, (count, width)).astype(np.int32)
    batch = ContrastiveBatch(numbers, items)
    assert batch.columns.tolist() == [*items[:, 0], *(item for row in items for item in row[1:])]
    assert (batch.columns[batch.places] == items).all() and batch.places[:, 0].tolist() == list(range(count))
    assert len(set(batch.places.ravel().tolist())) == items.size
    relevant = data_of([[-1]] * 3).relevant
    clicked = [{1, 4}, {0}, {7, 8}]
    wanted = [
        [column in clicked[number] and place != row for place, column in enumerate(batch.columns.tolist())]
        for row, number in enumerate(numbers.tolist())
    ]
    assert batch.excluded(relevant).tolist() == wanted


@pytest.mark.parametrize("pool", [0, 3, 5, 99])
def test_a_pool_holds_what_was_clicked_and_others_as_far_as_there_is_room(pool):
    log = log_of()
    found = HeldOutPool.of(log, np.array([2, 0]), ITEMS, pool=pool, seed=1)
    assert found.queries_asked == ["plum", "fig"] and {"i1", "i4", "i7", "i8"} <= set(found.texts)
    assert len(found.texts) == min(9, max(4, pool)) and found.texts == sorted(set(found.texts))
    clicked = [{found.texts[item] for item in found.clicks[[row]].indices} for row in (0, 1)]
    assert clicked == [{"i7", "i8"}, {"i1", "i4"}]
    assert found.texts == HeldOutPool.of(log, np.array([2, 0]), ITEMS, pool=pool, seed=1).texts
    draws = {tuple(HeldOutPool.of(log, np.array([0]), ITEMS, pool=4, seed=seed).texts) for seed in range(9)}
    assert len(draws) > 1


@settings(max_examples=60)
@given(st.integers(1, 5), st.integers(1, 8), st.integers(0, 10**6))
def test_the_best_of_a_block_come_in_the_order_of_their_numbers(rows, k, seed):
    found = np.random.default_rng(seed).integers(0, 3, (rows, 40)).astype(np.float32)
    items, values = _top(found.copy(), k, 100)
    assert items.shape == (rows, k) and (np.diff(items, axis=1) > 0).all()
    for row in range(rows):
        assert values[row].tolist() == found[row, items[row] - 100].tolist()
        assert sorted(values[row].tolist()) == sorted(found[row].tolist())[-k:]


def test_every_log_that_is_made_of_another_keeps_its_half_life():
    log = log_of()
    log.half_life = 30.0
    made = [
        log.binary, log.take(np.array([1])), log.only(np.arange(5) != 2), log.renumbered(np.arange(9) - 1, 9),
        log.encoded_by(lambda texts: np.ones((len(texts), 2), np.float32)),
        log.changed([("fig", "i2")], Strings.of(ITEMS), lambda texts: np.ones((len(texts), 1), np.float32))[0],
    ]  # fmt: skip
    assert [each.half_life for each in made] == [30.0] * 6


def test_choices_that_were_made_are_kept_by_name():
    one = Choice("MRR@10", 4, 6, [{"weight": 0.5, "all": 0.3}, {"weight": 1.0, "all": 0.2}], 0)
    other = Choice("R@10", 0, 0, [{"b": 0.75, "how": "x", "all": 0.0}], 0)
    both = Choices.of(first=one, none=None, second=other)
    assert list(both.made) == ["first", "second"] and Choices.of(none=None) is None
    assert both.summary == f"{one.summary} b 0.75, how x: the clicks are too few to choose by."
    assert both.to_dict() == {"first": one.to_dict(), "second": other.to_dict()} and Choice.of(one.to_dict()) == one
    assert one.curves() == {"weight": [(0.5, 0.3), (1.0, 0.2)]}
    several = Choice("R@10", 1, 1, [{"weight": w, "how": h, "all": w, "cold": -w} for h in "ab" for w in (0.5, 1.0)], 3)
    assert several.curves(quality="cold") == {
        "how a": [(0.5, -0.5), (1.0, -1.0)], "how b": [(0.5, -0.5), (1.0, -1.0)],
    }  # fmt: skip
    for wrong in (
        {"trials": [], "best": 0},
        {"trials": [{"all": "x"}], "best": 0},
        {"trials": [{"all": 1}], "best": 1},
        {},
    ):
        with pytest.raises(InputError, match="must have trials and a best one"):
            Choice.of({"measure": "m", "cold": 0, "warm": 0} | wrong)


def test_a_synthetic_query_lies_from_its_item_as_a_real_one_from_what_was_clicked():
    vectors = np.array([[3.0, 0.0], [0.0, 2.0], [0.0, 0.0]], np.float32)  # an item may have no direction
    relevant = Positives(np.array([[0, -1], [1, 0]], np.int32), np.array([[1.0, 0.0], [0.5, 0.5]], np.float32))
    rows = np.array([[0.6, 0.8], [0.0, 1.0]], np.float32)
    units = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    drawn, items = SyntheticQueries(vectors, rows, relevant).draw(300, np.random.default_rng(0))
    assert set(items.tolist()) == {0, 1, 2} and np.isfinite(drawn).all()
    possible = {item: [] for item in range(3)}
    for query, clicked in ((0, 0), (1, 1), (1, 0)):
        for item in range(3):
            moved = units[item] + rows[query] - units[clicked]
            possible[item].append(moved / (np.linalg.norm(moved) or 1))
    for vector, item in zip(drawn, items.tolist(), strict=True):
        assert min(np.abs(vector - each).max() for each in possible[item]) < 1e-5
    assert len({tuple(np.round(vector, 4)) for vector in drawn[items == 2]}) == 3


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 10**6))
def test_the_clicks_that_a_cold_query_sets_aside_are_bounded_by_those_of_others_on_its_items(rows, columns, seed):
    """Clicks on its items by queries that have other clicks too: one without others would turn cold itself."""
    clicks = (np.random.default_rng(seed).random((rows, columns)) < 0.4).astype(np.float32)
    several = clicks.sum(axis=1) > 1
    wanted = [
        sum(int(clicks[other, item]) for item in np.flatnonzero(clicks[row]) for other in range(rows) if several[other])
        - (int(clicks[row].sum()) if several[row] else 0)
        for row in range(rows)
    ]
    assert _damage(csr_array(clicks)).tolist() == wanted
