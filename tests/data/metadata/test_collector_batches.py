"""What is known of many items at a time: the same as item by item."""

from __future__ import annotations

import pytest

from vizsla.core.catalog import Item
from vizsla.data.metadata_builder import VALUES_PER_BATCH, DetailsCollector


def items(values, name="size"):
    return [Item(str(at), "", metadata={} if value is None else {name: value}) for at, value in enumerate(values)]


def shown(values):
    details = DetailsCollector.of(items(values))
    return [details.of(at).get("size") for at in range(len(values))]


@pytest.mark.parametrize("odd", ["1\n2", "-", "x", "1.", "\n"])
def test_a_value_that_is_no_number_is_kept_as_it_is_among_numbers(odd):
    numbers = [str(n) for n in range(VALUES_PER_BATCH + 3)]
    assert shown(numbers)[:3] == ["0", "1", "2"]
    assert shown([*numbers, odd])[-2:] == [numbers[-1], odd] and shown([odd, *numbers])[:2] == [odd, "0"]
    column = DetailsCollector.of(items([*numbers, odd])).column("size")
    assert column.kind == "number" and column.keys.tolist() == [float(n) for n in numbers]


def test_a_leading_zero_makes_a_column_of_texts():
    numbers = [str(n) for n in range(VALUES_PER_BATCH + 3)]
    assert shown([*numbers, "007"])[-2:] == [numbers[-1], "007"] and shown(["007", *numbers])[:2] == ["007", "0"]


@pytest.mark.parametrize("distinct", [3, 5 * VALUES_PER_BATCH])
def test_gaps_stay_gaps(distinct):
    values = [None if n % 7 == 3 else "" if n % 7 == 4 else f"v{n % distinct}" for n in range(3 * VALUES_PER_BATCH)]
    assert shown(values) == [value or None for value in values]


def test_items_with_as_many_fields_may_have_others():
    details = DetailsCollector.of([Item("a", "", metadata={"x": "1"}), Item("b", "", metadata={"y": "2"})])
    assert [details.of(at) for at in range(2)] == [{"x": "1"}, {"y": "2"}]
