"""`where` against a twin in plain Python, the laws of sets, and both ways of writing a condition."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vizsla
from vizsla.core.catalog import Catalog, Item
from vizsla.core.strings import Strings
from vizsla.data.conditions import And, Condition, FieldCondition, Not, Or
from vizsla.data.metadata_builder import DetailsCollector
from vizsla.errors import InputError

KINDS = {"price": "number", "day": "date", "brand": "text", "tags": "list", "sold": "boolean"}
NUMBERS, WORDS = [-3, 0, 1, 2.5, 20, 1000], ["", "Ace", "ace", "Bo, Inc.", "ä", "z", "20", "true", 'say "hi"']
DAYS = ["2024-02-29", "2024-03-01T00:30:00+01:00", "2024-03-01 12:00", "2023-12-31T23:59:59.999999Z"]
LISTS = [["a"], ["a", "b"], ["b", "Ace"], ["20", "ä"]]
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "price": st.sampled_from([None, "n/a", *NUMBERS]),
            "day": st.sampled_from([None, "soon", *DAYS]),
            "brand": st.sampled_from([None, *WORDS]),
            "tags": st.sampled_from([None, *LISTS]),
            "sold": st.sampled_from([None, True, False]),
        }
    ),
    min_size=1,
    max_size=12,
)
ANY = st.sampled_from([*NUMBERS, *WORDS, "n/a", "2024-02-29", "a", True, False])
DATES = st.sampled_from([*DAYS, "2024-03-01", "2024-02", "2024", "2023-12-31"])


def compared(field, kinds, values):
    return st.builds(lambda kind, value: FieldCondition(kind, field, (value,)), st.sampled_from(kinds), values)


FIELDS = st.sampled_from(list(KINDS))
ORDERS = ["lt", "lte", "gt", "gte"]
LEAVES = st.one_of(
    st.builds(
        lambda kind, field, value: FieldCondition(kind, field, (value,)), st.sampled_from(["eq", "ne"]), FIELDS, ANY
    ),
    st.builds(
        lambda kind, field, values: FieldCondition(kind, field, tuple(values)),
        st.sampled_from(["in", "nin"]),
        FIELDS,
        st.lists(ANY, min_size=1, max_size=3),
    ),
    st.builds(lambda field: FieldCondition("isnull", field, ()), FIELDS),
    compared("price", ORDERS, st.sampled_from([*NUMBERS, 0.5])),
    compared("day", [*ORDERS, "eq", "ne"], DATES),
    compared("brand", [*ORDERS, "contains", "startswith"], st.sampled_from([*WORDS, "B", "c", ", "])),
    compared("tags", ["contains"], st.sampled_from(["a", "b", "Ace", "A", "20"])),
)
CONDITIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(
            lambda kind, parts: kind(tuple(parts)), st.sampled_from([And, Or]), st.lists(inner, min_size=2, max_size=3)
        ),
    ),
    max_leaves=6,
)


def catalog(rows):
    items = [Item(str(number), "", metadata=row) for number, row in enumerate(rows)]
    collector = DetailsCollector(kinds=KINDS, keep_texts=True)
    collector.add_all(items)
    whole = [Item("x", "", metadata={"price": 1, "day": "1970-01-01", "brand": "x", "tags": ["x"], "sold": True})]
    collector.add_all(whole)  # so that every column exists
    return Catalog(Strings.of([item.id for item in items + whole]), collector.details())


# The twin: one item at a time, with nothing but Python's own values.


def instant(text):
    found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def period(text):
    if len(text) == 4:
        return instant(f"{text}-01-01"), instant(f"{int(text) + 1}-01-01")
    if len(text) == 7:
        year, month = map(int, text.split("-"))
        return instant(f"{text}-01"), instant(f"{year + month // 12}-{month % 12 + 1:02}-01")
    start = instant(text)
    return start, start + (timedelta(days=1) if len(text) == 10 else timedelta(microseconds=1))


def written(value):
    return (
        ("true" if value else "false") if isinstance(value, bool) else value if isinstance(value, str) else f"{value:g}"
    )


def equals(field, own, value):
    if own in (None, ""):
        return False
    if field == "tags":
        return written(value) in own
    if field == "brand" or own in ("n/a", "soon"):
        return own == written(value)
    if field == "sold":
        return written(value) in (("true", "1") if own else ("false", "0"))
    if field == "price":
        if isinstance(value, bool):
            return False
        return own == (float(value) if value == "20" else value)
    try:
        low, high = period(written(value)) if written(value)[:2] == "20" and written(value) != "20" else (None, None)
    except ValueError:
        return False
    return low is not None and low <= instant(own) < high


def order(kind, field, own, value):
    if own in (None, "", "n/a", "soon"):
        return False
    if field == "day":
        (low, high), own = period(value), instant(own)
        return {"lt": own < low, "lte": own < high, "gt": own >= high, "gte": own >= low}[kind]
    return {"lt": own < value, "lte": own <= value, "gt": own > value, "gte": own >= value}[kind]


def holds(condition, row):
    if isinstance(condition, Not):
        return not holds(condition.part, row)
    if isinstance(condition, Or):
        return any(holds(part, row) for part in condition.parts)
    if isinstance(condition, And):
        return all(holds(part, row) for part in condition.parts)
    own, kind = row[condition.field], condition.type
    if kind == "isnull":
        return own in (None, "", "n/a", "soon")
    if kind in ("eq", "in"):
        return any(equals(condition.field, own, value) for value in condition.values)
    if kind in ("ne", "nin"):
        return not any(equals(condition.field, own, value) for value in condition.values)
    value = condition.values[0]
    if kind == "contains":
        return bool(own) and value in own
    if kind == "startswith":
        return bool(own) and own.startswith(value)
    return order(kind, condition.field, own, value)


@given(ROWS, CONDITIONS)
@settings(max_examples=200)
def test_a_mask_is_what_the_twin_says(rows, condition):
    found = condition.mask(catalog(rows))[: len(rows)].tolist()
    assert found == [holds(condition, row) for row in rows]


@given(ROWS, CONDITIONS, CONDITIONS)
def test_conditions_obey_the_laws_of_sets(rows, a, b):
    items = catalog(rows)
    assert np.array_equal((~(a | b)).mask(items), (~a & ~b).mask(items))
    assert np.array_equal((~(a & b)).mask(items), (~a | ~b).mask(items))
    assert np.array_equal((~~a).mask(items), a.mask(items))
    assert (a | ~a).mask(items).all() and not (a & ~a).mask(items).any()


@given(CONDITIONS)
def test_what_is_printed_is_read_back(condition):
    assert vizsla.where(str(condition)) == condition
    assert repr(condition) == f"where({str(condition)!r})"


@given(CONDITIONS)
def test_json_is_read_back(condition):
    assert vizsla.where(condition.to_dict()) == condition
    assert vizsla.where(json.loads(condition.to_json())) == condition == vizsla.where(condition.to_json())


TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from(
            [
                "price",
                "brand",
                "=",
                "!=",
                "<",
                ">=",
                "(",
                ")",
                ",",
                "..",
                ".",
                " ",
                "and",
                " or ",
                "not ",
                " in ",
                '"',
                "'",
                "5",
                "1,999",
                "is",
                " null",
                " contains ",
                "startswith",
                "a b",
                "\\",
                "ä",
                "{",
                "\n",
                "&&",
            ]
        ),
        max_size=14,
    ).map("".join),
)


@given(TEXTS)
@settings(max_examples=250)
def test_any_text_is_a_condition_or_an_input_error(text):
    try:
        condition = Condition.parse(text)
    except InputError:
        return
    assert vizsla.where(str(condition)) == condition == vizsla.where(condition.to_dict())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "key", "value", "filters", "x"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["type", "key", "value", "filters"]), JSON | st.sampled_from(["eq", "and", "in"]))
)
def test_any_json_is_a_condition_or_an_input_error(value):
    try:
        condition = vizsla.where(value)
    except InputError:
        return
    assert vizsla.where(condition.to_dict()) == condition == vizsla.where(str(condition))


@pytest.mark.parametrize(
    "value", [{}, {"type": "eq"}, {"type": "and", "filters": []}, {"type": "not", "filters": [{}, {}]}]
)
def test_json_that_says_nothing_raises(value):
    with pytest.raises(InputError, match="must have"):
        vizsla.where(value)
