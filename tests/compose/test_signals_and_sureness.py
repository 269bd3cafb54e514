"""Signals by their formulas, and the features, the curve and the calibration of confidence by plain twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.table_retriever import TableRetriever
from vizsla import Dataset, bm25
from vizsla.base.queries import Queries
from vizsla.compose.confidence import (
    FEATURES,
    HITS_COMPARED,
    ConfidenceModel,
    Confident,
    ascending,
    calibration_error,
    features_of,
    fit,
    leaves,
)
from vizsla.compose.signal import Signal, signal_values
from vizsla.core.strings import Strings
from vizsla.errors import InputError

DAY = 86_400.0
NUMBERS = st.lists(st.one_of(st.none(), st.integers(-5, 20).map(lambda n: n / 2)), min_size=1, max_size=8)


def catalog(values, field="price"):
    rows = [{"id": f"i{n}", "text": "fig", **({} if v is None else {field: v})} for n, v in enumerate(values)]
    return Dataset.of(rows).item_ids


@given(NUMBERS.filter(lambda values: any(value is not None for value in values)))
def test_signals_of_numbers(values):
    items, known = catalog(values), [value for value in values if value is not None]
    low, high = min(known), max(known)

    def found(shape="linear", half_life=None, now=None):
        return signal_values(items, "price", shape, half_life, now).tolist()

    def wanted(of):
        return pytest.approx([0.0 if value is None else of(value) for value in values], abs=1e-6)

    width = high - low or 1.0
    assert found() == wanted(lambda value: (value - low) / width)
    assert found("inverse") == wanted(lambda value: 1 - (value - low) / width)
    if high > 0:
        assert found("log") == wanted(lambda value: np.log1p(max(value, 0)) / np.log1p(high))
    else:
        assert found("log") == [0.0] * len(values)
    assert found(half_life=4.0) == wanted(lambda value: 0.5 ** ((high - value) / 4.0))
    assert found(half_life=4.0, now=3.0) == wanted(lambda value: 0.5 ** (max(3.0 - value, 0) / 4.0))


def test_signals_of_dates_and_of_nothing():
    days = ["2026-01-31", "2026-01-01", "2025-12-02", "2026-02-10"]
    rows = [{"id": day, "text": "fig", "day": day} for day in days] + [{"id": "none", "text": "fig"}]
    items = Dataset.of(rows, meta="day:date").item_ids
    ages = [10, 40, 70, 0]
    wanted = [*(0.5 ** (age / 30) for age in ages), 0.0]
    assert signal_values(items, "day", "linear", 30.0, None).tolist() == pytest.approx(wanted, rel=1e-5)
    earlier = signal_values(items, "day", "linear", 30.0, "2026-01-31")
    assert earlier.tolist() == pytest.approx([1, 0.5, 0.25, 1, 0], rel=1e-5)
    assert signal_values(items, "day", "linear", 30.0, 1_769_817_600.0).tolist() == earlier.tolist()
    assert signal_values(Strings.of(["a", "b"]), "price", "linear", None, None).tolist() == [0.0, 0.0]
    half_lives = [{"half_life_days": wrong} for wrong in (0.0, -1.0, True, float("inf"), float("nan"))]
    moments = [{"half_life_days": 1.0, "now": wrong} for wrong in ("soon", True, float("inf"))]
    for wrong in ({"now": "2026-01-31"}, {"shape": "cubic"}, *half_lives, *moments):
        with pytest.raises(InputError):
            Signal(items, np.zeros(5, np.float32), "day", **wrong)


def test_a_signal_ranks_what_it_is_above_0_for_equal_ones_by_number():
    items = catalog([1, 2, 3, 4, 5])
    search = Signal(items, np.array([0.5, 0.0, 1.0, 0.5, 0.25], np.float32), "price")
    assert search(["a", "b"], k=3).ids == [["i2", "i0", "i3"]] * 2
    assert search("a", k=9).ids == [["i2", "i0", "i3", "i4"]] and search("a").scores.tolist() == [1, 0.5, 0.5, 0.25]
    assert search("a", k=2, where=["i1", "i3", "i4"]).ids == [["i3", "i4"]] and search.max_score == 1.0
    assert search.score("a", ["i1", "i4"]).to_dict()["0"] == {"i4": 0.25, "i1": 0.0}


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=12))
def test_the_ascending_curve_is_the_isotonic_regression(points):
    """The least squares fit at a point is the highest mean of a run up to it, over the lowest of one from it."""
    values = np.array([float(value) for value, _ in points]) + np.arange(len(points)) * 1e-6
    clicked = np.array([flag for _, flag in points])
    logits, shares = ascending(values, clicked)
    order = np.argsort(values)
    sorted_clicks = clicked[order].astype(float)
    count = len(points)
    fitted = [
        max(min(sorted_clicks[i : j + 1].mean() for j in range(at, count)) for i in range(at + 1))
        for at in range(count)
    ]
    steps = [fitted[0]] + [fitted[at] for at in range(1, count) if fitted[at] - fitted[at - 1] > 1e-9]
    assert shares.tolist() == pytest.approx(steps)
    means = [np.mean([values[order][at] for at in range(count) if abs(fitted[at] - step) < 1e-9]) for step in steps]
    assert logits.tolist() == pytest.approx(means)


def test_calibration_is_the_gap_of_ten_groups():
    rng = np.random.default_rng(0)
    confidences, clicked = rng.random(37), rng.random(37) < 0.5
    order = np.argsort(confidences)
    groups, sizes, at = [], [4] * 7 + [3] * 3, 0
    for size in sizes:
        groups.append(order[at : at + size])
        at += size
    wanted = sum(len(group) * abs(confidences[group].mean() - clicked[group].mean()) for group in groups) / 37
    assert calibration_error(confidences, clicked) == pytest.approx(wanted)
    assert calibration_error(np.zeros(0), np.zeros(0, bool)) == 0
    assert calibration_error(np.array([0.25]), np.array([True])) == 0.75


def test_features_of_every_hit_by_hand():
    names = [f"i{number}" for number in range(30)]
    tables = {"a b": {name: 30.0 - number for number, name in enumerate(names)}, "c": {"i5": 2.0}, "d e f": {}}
    others = {"a b": {"i2": 9.0, "i0": 3.0, "i29": 1.0}, "c": {"i6": 1.0}, "d e f": {"i1": 1.0}}
    part, other = TableRetriever(tables, names), TableRetriever(others, names)
    both = part.normalized("minmax", depth=30) + other.normalized("minmax", depth=30) * 0.0001
    queries = Queries(list(tables))
    found = part(queries, k=25)
    rows = features_of(found, queries, leaves(both), None, 1)
    assert rows.shape == (26, len(FEATURES))
    lists = [
        {query: sorted(table, key=lambda name, table=table: -table[name]) for query, table in each.items()}
        for each in (tables, others)
    ]
    at = 0
    for query, table in tables.items():
        ranked = lists[0][query][:25]
        seen = [each[query][:HITS_COMPARED] for each in lists]
        for rank, name in enumerate(ranked):
            first, last = table[ranked[0]], table[ranked[min(len(ranked), HITS_COMPARED) - 1]]
            spread = max(abs(first - last), 1e-9 * abs(first))
            after = table[ranked[rank + 1]] if rank + 1 < len(ranked) else min(table[name], last)
            agreed = [1 / (1 + each.index(name)) if name in each else 0 for each in seen]
            wanted = [
                table[name], first, (table[name] - first) / spread, (table[name] - after) / spread,
                np.log1p(rank), np.log1p(len(query.split())), sum(agreed) / 2,
            ]  # fmt: skip
            assert rows[at].tolist() == pytest.approx(wanted, rel=1e-6), (query, rank)
            at += 1
    assert features_of(part("d e f"), Queries(["d e f"]), [], None, 1).shape == (0, len(FEATURES))


def test_a_model_is_a_clipped_line_and_a_curve():
    plain = ConfidenceModel((1.0,) * 7, (2.0,) * 7, (1.0, -1.0, 0.5, 0.0, 0.0, 0.0, 0.0), 0.25)
    rows = np.array([[3.0, 1, 5, 0, 0, 0, 0], [100.0, 1, 1, 0, 0, 0, 0], [1.0] * 7])
    assert plain.logit(rows).tolist() == pytest.approx([1 + 1 + 0.25, 10.25, 0.25])
    assert plain.confidences(rows).tolist() == pytest.approx((1 / (1 + np.exp(-plain.logit(rows)))).tolist(), rel=1e-5)
    curve = ConfidenceModel((1.0,) * 7, (2.0,) * 7, (1.0,) + (0.0,) * 6, 0.0, (0.0, 2.0), (0.1, 0.9))
    rows = np.array([[first] + [1.0] * 6 for first in (1.0, 3.0, 9.0, -9.0)])
    assert curve.confidences(rows).tolist() == pytest.approx([0.1, 0.5, 0.9, 0.1])
    ones, twos, none, nan = (1.0,) * 7, (2.0,) * 7, (0.0,) * 7, (float("nan"),) * 7
    for wrong in (
        (ones[:6], twos, none, 0.0), (ones, none, none, 0.0), (nan, twos, none, 0.0),
        (ones, twos, none, 0.0, (1.0, 0.0), (0.0, 1.0)), (ones, twos, none, 0.0, (1.0,), ()),
    ):  # fmt: skip
        with pytest.raises(InputError):
            ConfidenceModel(*wrong)


@pytest.mark.parametrize(("clicks", "curved"), [(49, False), (50, True)])
def test_a_curve_is_fitted_from_fifty_clicks_on_and_weights_are_the_ridges(clicks, curved):
    rng = np.random.default_rng(1)
    features, rows = rng.standard_normal((240, 7)), np.repeat(np.arange(60), 4)
    clicked = np.zeros(240, bool)
    clicked[np.argsort(-features[:, 0] - rng.standard_normal(240))[:clicks]] = True
    model, error = fit(features, clicked, rows, 0)
    assert bool(model.logits) == curved and 0 <= error < 0.3
    # At the optimum of the penalized likelihood the slope by every weight is 0; the intercept is hardly held.
    standard = np.clip((features - features.mean(0)) / features.std(0), -10, 10)
    shares = 1 / (1 + np.exp(-(standard @ np.array(model.weights) + model.intercept)))
    assert (standard.T @ (shares - clicked) + np.array(model.weights)).tolist() == pytest.approx([0] * 7, abs=1e-6)
    assert shares.sum() == pytest.approx(clicks, abs=1e-3)


def test_a_least_confidence_takes_what_is_at_it():
    search = bm25({"a": "fig", "b": "fig fig", "c": "fig tree tree tree"})
    model = ConfidenceModel((0.0,) * 7, (1.0,) * 7, (0.0,) * 4 + (-1.0, 0.0, 0.0), 0.0)
    every = Confident(search, model)("fig", k=3)
    sure = every.confidences.tolist()
    assert sure == sorted(sure, reverse=True) and every.ids == search("fig", k=3).ids
    for place, least in enumerate(sure):
        assert Confident(search, model, min_confidence=least)("fig", k=3).ids == [every.ids[0][: place + 1]]
