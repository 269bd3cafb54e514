"""Facets against counting one by one: values, ranges of numbers and calendar intervals."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vizsla import where
from vizsla.core.catalog import Item
from vizsla.data.facets import INTERVALS, Facet, FacetCounts, count_facet, facets_of, without_field
from vizsla.data.metadata import ItemMetadata
from vizsla.data.metadata_builder import DetailsCollector
from vizsla.errors import InputError


def known(values: list) -> ItemMetadata:
    items = [Item(str(n), "", metadata={} if value is None else {"field": value}) for n, value in enumerate(values)]
    return DetailsCollector.of([*items, Item("last", "", metadata={"other": 1})])


def counted(values: list, facet: Facet) -> FacetCounts:
    return count_facet(known(values), facet, np.arange(len(values), dtype=np.int32))


MOMENTS = st.datetimes(datetime(1969, 12, 20), datetime(1971, 3, 1)) | st.datetimes(
    datetime(2023, 12, 25), datetime(2024, 3, 4)
)


def begun(moment: datetime, interval: str) -> datetime:
    """Return when the interval of a moment began, by Python's calendar."""
    hour = moment.replace(minute=0, second=0, microsecond=0)
    day = hour.replace(hour=0)
    return {
        "hour": hour,
        "day": day,
        "week": day - timedelta(days=moment.weekday()),
        "month": day.replace(day=1),
        "year": day.replace(day=1, month=1),
    }[interval]


@pytest.mark.parametrize("interval", INTERVALS)
@settings(max_examples=30)
@given(st.lists(MOMENTS, min_size=1, max_size=30))
@example([datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59, 59)])
@example([datetime(2024, 1, day) for day in range(1, 16)])
def test_dates_are_counted_by_the_calendar(interval, moments) -> None:
    found = counted([moment.isoformat() for moment in moments], Facet("field", interval=interval))
    expected = Counter(begun(moment, interval) for moment in moments)
    assert {datetime.fromisoformat(each.value): each.count for each in found.values if each.count} == expected
    for each in found.values:
        start, end = datetime.fromisoformat(each.value), datetime.fromisoformat(each.end)
        assert begun(start, interval) == start and begun(end - timedelta(seconds=1), interval) == start
        assert begun(end, interval) == end
    starts = [each.value for each in found.values]
    assert starts == sorted(starts)
    if len(expected) > 1 and (max(expected) - min(expected)) < timedelta(hours=900):
        assert starts[1:] == [each.end for each in found.values[:-1]], "no gap between them"


def test_a_zone_puts_a_moment_into_the_day_of_utc() -> None:
    found = counted(["2024-03-01T00:30+01:00", "2024-03-01T00:30"], Facet("field", interval="month"))
    assert [(each.value, each.count) for each in found.values] == [("2024-02-01", 1), ("2024-03-01", 1)]


NUMBERS = st.lists(
    st.integers(-1000, 1000) | st.floats(-1e4, 1e4, allow_nan=False).map(lambda number: round(number, 2)),
    min_size=1,
    max_size=30,
)


@given(NUMBERS, st.integers(1, 12))
@example([3, 47], 5)
@example([0, 10], 1)
@example([5, 5, 5], 4)
@example([-10, 0, 10], 2)
@example([0, -30], 1)
def test_bins_are_of_one_round_width_and_hold_every_number_once(numbers, bins) -> None:
    found = counted(numbers, Facet("field", bins=bins)).values
    assert 1 <= len(found) <= bins and sum(each.count for each in found) == len(numbers)
    assert [each.count for each in found] == [sum(each.value <= n < each.end for n in numbers) for each in found]
    widths = {float(f"{each.end - each.value:.6g}") for each in found}
    assert len(widths) == 1
    if bins > 1 or not min(numbers) < 0 <= max(numbers):  # no round range lies on both sides of 0
        assert len(set(numbers)) == 1 or f"{widths.pop():e}"[:2] in ("1.", "2.", "5.")
    assert found[0].value <= min(numbers) < found[0].end and found[-1].value <= max(numbers) < found[-1].end


@given(NUMBERS, st.sets(st.integers(-1000, 1000), min_size=2, max_size=6).map(sorted))
@example([0, 5, 10, 15, 20], [0, 10, 20])
def test_an_edge_belongs_to_the_range_that_it_begins(numbers, edges) -> None:
    found = counted([*numbers, None], Facet("field", edges=tuple(edges)))
    assert [(each.value, each.end) for each in found.values] == list(pairwise(edges))
    expected = [sum(low <= n < high for n in numbers) for low, high in pairwise(edges)]
    assert [each.count for each in found.values] == expected
    assert found.others == len(numbers) - sum(expected) and found.missing == 1


@given(st.lists(st.sampled_from("abcdefgh"), max_size=40), st.integers(1, 9))
@example(list("aabbccdd"), 2)
def test_the_most_frequent_values_come_first_and_equal_ones_in_their_order(values, size) -> None:
    found = counted(["z", *values], Facet("field", size=size))
    expected = sorted(Counter(["z", *values]).items(), key=lambda pair: (-pair[1], pair[0]))
    assert [(each.value, each.count) for each in found.values] == expected[:size]
    assert found.others == max(0, len(expected) - size)


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        ("field=a", None),
        ("field=a and other<5", "other < 5"),
        ("(field=a or field=b) and not field=c", None),
        ("(field=a or other<5) and field=b", 'field = "a" or other < 5'),
        ("not (field=a and other<5)", 'not (field = "a" and other < 5)'),
        ("field=a or other<5", 'field = "a" or other < 5'),
        ("other<5 and other>1", "other < 5 and other > 1"),
    ],
)
def test_only_what_asks_for_the_field_alone_is_left_out(condition, left) -> None:
    rest = without_field(where(condition), "field", known(["a", "b"]))
    assert (None if rest is None else str(rest)) == left


@pytest.mark.parametrize(
    ("given", "how", "wanted"),
    [
        ("brand", None, Facet("brand")),
        ("price:10", None, Facet("price", bins=10)),
        ("day:month", None, Facet("day", interval="month")),
        ("price:0|10|20", None, Facet("price", edges=("0", "10", "20"))),
        ("dc:title", None, Facet("dc:title")),
        ("dc:title:3", None, Facet("dc:title", bins=3)),
        (":3", None, Facet(":3")),
        ("price:|1", None, Facet("price:|1")),
        ("a:b", 4, Facet("a:b", bins=4)),
        ("day", "week", Facet("day", interval="week")),
        ("price", [0, 5], Facet("price", edges=(0, 5))),
        ("price", {"size": 3}, Facet("price", size=3)),
        ("price", {"edges": [1, 2]}, Facet("price", edges=(1, 2))),
        (Facet("x", 7), None, Facet("x", 7)),
    ],
)
def test_a_facet_is_read_as_it_is_written(given, how, wanted):
    assert Facet.of(given, how) == wanted


def test_facets_come_as_texts_lists_and_mappings():
    assert facets_of(None) == [] and facets_of("a, b:2") == [Facet("a"), Facet("b", bins=2)]
    assert facets_of(["a", Facet("b")]) == facets_of({"a": None, "b": None}) == [Facet("a"), Facet("b")]
    assert facets_of(Facet("a")) == [Facet("a")]
    for wrong in (3, ["a", "a"], "a,", [3], {"a": {"color": 1}}, {"a": True}, {"a": 0}, {"a": 1.5}):
        with pytest.raises(InputError):
            facets_of(wrong)


@pytest.mark.parametrize(
    "wrong",
    [{"field": ""}, {"field": "a", "size": 0}, {"field": "a", "bins": 2, "interval": "day"}, {"field": "a", "bins": 0},
     {"field": "a", "bins": 1001}, {"field": "a", "interval": "second"}, {"field": "a", "edges": (1,)}],
)  # fmt: skip
def test_a_facet_has_one_way_to_count(wrong):
    with pytest.raises(InputError):
        Facet(**wrong)


def test_values_of_every_kind_are_counted_as_they_are():
    assert [tuple(each) for each in counted([True, False, True, None], Facet("field")).values] == [
        (True, 2, None),
        (False, 1, None),
    ]
    found = counted([["a", "b"], ["b"], [], None], Facet("field"))
    assert [(each.value, each.count) for each in found.values] == [("b", 2), ("a", 1)]
    assert counted([1.5, 2, 2, "n/a"] + [2] * 40, Facet("field")).to_dict() == {
        "values": [{"value": 2, "count": 42}, {"value": 1.5, "count": 1}], "missing": 1, "others": 0,
    }  # fmt: skip
    ranges = counted([1, 5], Facet("field", edges=(0, 3, 9))).to_dict()
    assert ranges["values"] == [{"value": 0, "count": 1, "end": 3}, {"value": 3, "count": 1, "end": 9}]
    for values, facet in (([1], Facet("field", interval="day")), (["a"], Facet("field", bins=2)),
                          ([1], Facet("field", edges=(3, 1))), ([1], Facet("field", edges=("x", "y"))),
                          (["2024-01-01"], Facet("field", bins=2))):  # fmt: skip
        with pytest.raises(InputError):
            counted(values, facet)
