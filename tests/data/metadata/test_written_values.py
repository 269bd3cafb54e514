"""How numbers, dates, truth values and lists are written: tables by hand, and dates against the standard library."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vizsla import Dataset, where
from vizsla.data.values import NumberStyle, boolean_of, date_span, json_array, list_of, number_text, text_of

NUMBERS = {
    # text: (with the dot as the point, with the comma as the point)
    "0": (0, 0), "7": (7, 7), "-7": (-7, -7), "+7": (7, 7), "\u22127": (-7, -7), " 7 ": (7, 7),
    "1.5": (1.5, None), "1,5": (None, 1.5), "0.05": (0.05, None), ".5": (0.5, None), ",5": (None, 0.5),
    "1.999": (1.999, 1999), "1,999": (1999, 1.999), "12,34,567": (None, None), "1,234,567": (1234567, None),
    "1.234.567": (None, 1234567), "1,234.5": (1234.5, None), "1.234,5": (None, 1234.5), "1234,567": (None, 1234.567),
    "0,999": (None, 0.999), "0.999": (0.999, None), "1 234": (1234, 1234), "1 234,5": (None, 1234.5),
    "1'234.5": (1234.5, None), "1\u202f234": (1234, 1234), "1_000": (1000, 1000), "1,23,456": (None, None),
    "1e3": (1000, 1000), "1.5E-2": (0.015, None), "-2e+2": (-200, -200), "1,5e2": (None, 150),
    "$5": (5, 5), "$ 5.00": (5, None), "5.00 $": (5, None), "-$5": (-5, -5), "$-5": (-5, -5), "US$5": (5, 5),
    "EUR 1.234,50": (None, 1234.5), "1,99 €": (None, 1.99), "£1,234.50": (1234.5, None), "5 CHF": (5, 5),
    "9007199254740992": (2**53, 2**53), "-9007199254740991": (-(2**53) + 1, -(2**53) + 1),
    "00123": (123, 123), "-0.5": (-0.5, None), "007,5": (None, 7.5),
}  # fmt: skip
NO_NUMBERS = [
    "", "-", "n/a", "NaN", "inf", "1.10.3", "1,,2", "1..2", "1.", "--1", "-$-5", "$", "5$5", "1e", "1e1000",
    "9007199254740993", "0x10", "1/2", "12:30", "5 apples", "1 2", "1 23", "\u0661", "9" * 61, "1.2,3,4",
]  # fmt: skip


@pytest.mark.parametrize(("text", "readings"), NUMBERS.items())
def test_numbers_under_both_readings(text, readings):
    found = number_text(text)
    dot, comma = (None, None) if found is None else (found.dot, found.comma)
    same = dict(zip(("dot", "comma"), readings, strict=True))
    assert {"dot": dot, "comma": comma} == {
        name: pytest.approx(value, rel=1e-12) if value is not None else None for name, value in same.items()
    }


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number(text):
    assert number_text(text) is None


@pytest.mark.parametrize(
    ("style", "declared", "wanted"),
    [
        (NumberStyle(), False, [1.999, None, None, None, None, 1234.5, 1.5]),
        (NumberStyle("."), False, [1.999, 1999, None, None, None, 1234.5, 1.5]),
        (NumberStyle(","), False, [1999, 1.999, 1234567, None, None, 1234.5, 1.5]),
        (NumberStyle(".", spaced=True), False, [1.999, 1999, None, 555123456, None, 1234.5, 1.5]),
        (NumberStyle(), True, [1.999, None, 1234567, 555123456, 123, 1234.5, 1.5]),
    ],
)
def test_a_column_decides_what_a_value_means(style, declared, wanted):
    texts = ["1.999", "1,999", "1.234.567", "555 123 456", "00123", "1,234.5", "1,5"]
    assert [style.read(text, declared=declared) for text in texts] == wanted


ZONES = st.integers(-14 * 60, 14 * 60)


@given(st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 28)), st.one_of(st.none(), ZONES), st.sampled_from("T t"))
@example(datetime(2024, 2, 29, 23, 59, 59), 330, "T")
@example(datetime(1969, 12, 31, 23, 59, 59, 999_999), None, " ")
def test_moments_are_those_of_the_standard_library(moment, minutes, between):
    zone = UTC if minutes is None else timezone(timedelta(minutes=minutes))
    start = (moment.replace(tzinfo=zone) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    sign, away = "-" if (minutes or 0) < 0 else "+", abs(minutes or 0)
    zones = (
        [""] if minutes is None else [f"{sign}{away // 60:02}:{away % 60:02}", f"{sign}{away // 60:02}{away % 60:02}"]
    )
    zones += ["Z", "z"] if minutes is None else [f"{sign}{away // 60:02}"] if away % 60 == 0 else []
    day, clock = f"{moment.year:04}-{moment:%m-%d}", f"{moment:%H:%M:%S.%f}"
    for written in zones:
        assert date_span(f"{day}{between}{clock}{written}") == (start, start + 1)
        assert date_span(f" {day}{between}{clock.replace('.', ',')}789{written} ") == (start, start + 1)
        whole = start - moment.microsecond
        assert date_span(f"{day}{between}{clock[:8]}{written}") == (whole, whole + 1)
        minute = whole - moment.second * 1_000_000
        assert date_span(f"{day}{between}{clock[:5]}{written}") == (minute, minute + 1)


@given(st.dates(date(1, 1, 1), date(9999, 12, 31)))
@example(date(9999, 12, 31))
@example(date(2024, 12, 1))
@example(date(1970, 1, 1))
def test_days_months_and_years_end_where_the_next_begins(day):
    def days(year, month, number):
        if year == 10_000:
            return days(9999, 12, 31) + 86_400_000_000
        return (date(year, month, number) - date(1970, 1, 1)).days * 86_400_000_000

    own = days(day.year, day.month, day.day)
    assert date_span(day.isoformat()) == (own, own + 86_400_000_000)
    later = (day.year + 1, 1) if day.month == 12 else (day.year, day.month + 1)
    assert date_span(day.isoformat()[:7]) == (days(day.year, day.month, 1), days(*later, 1))
    assert date_span(day.isoformat()[:4]) == (days(day.year, 1, 1), days(day.year + 1, 1, 1))
    assert date_span(day.isoformat()[:7], reduced=False) is None is date_span(day.isoformat()[:4], reduced=False)


@pytest.mark.parametrize(
    "text",
    ["2023-02-29", "2024-02-30", "2024-13-01", "2024-00-01", "2024-01-00", "2024-13", "2024-00", "0000", "0000-01-01",
     "2024-1-1", "24-01-01", "2024-01-01T24:00", "2024-01-01T12", "2024-01-01T12:60", "2024-01-01T12:00+25:00",
     "2024-01-01Z", "20240101", "2024-01-01T12:00:00.", "01/02/2024", "tomorrow", ""],
)  # fmt: skip
def test_what_is_no_date(text):
    assert date_span(text) is None


def test_truth_values():
    yes, no = ["true", "Yes", " Y ", "t", "ON", "1"], ["false", "No", "n", "F", "off", "0"]
    assert [boolean_of(text) for text in yes + no] == [True] * 6 + [False] * 6
    assert [boolean_of(text, words_only=True) for text in yes + no] == [True, *[None] * 5, False, *[None] * 5]
    assert boolean_of("2") is None is boolean_of("")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("a|b;c", ["a", "b;c"]), ("a;b c; ;", ["a", "b c"]), ("one", ["one"]), ("", []), (" [1, null, true] ", [1, True]),
     ('["x|y"]', ["x|y"]), ("[1", ["[1"]), ("[[1]]", ["[[1]]"]), ('[{"a": 1}]', ['[{"a": 1}]']), ("[]", []),
     ("[a]|b", ["[a]", "b"]), ("|", [])],
)  # fmt: skip
def test_lists_are_json_or_parted(text, wanted):
    assert list_of(text) == wanted


def test_values_as_texts():
    values = ["a", 20, 20.0, -0.0, 1.5, True, False, 2.0**53, 2.0**54, float("inf"), None]
    assert [text_of(value) for value in values[:8]] == ["a", "20", "20", "0", "1.5", "true", "false", str(2**53)]
    assert text_of(values[8]) == "1.8014398509481984e+16" and json_array("nothing") is None


def ids(rows, condition):
    items = Dataset.of(rows).item_ids
    return [items[number] for number in np.flatnonzero(where(condition).mask(items)).tolist()]


def test_amounts_in_a_condition_are_read_as_those_of_a_column():
    rows = [{"id": str(price), "text": "fig", "price": price} for price in (5, 1000, 2_000_000)]
    assert ids(rows, "price<$1.234.567") == ["5", "1000"] == ids(rows, "price < 1e6")
    assert ids(rows, "price>=$1000") == ["1000", "2000000"] and ids(rows, "price=5,1000") == ["5", "1000"]
    assert ids(rows, "price=5") == ["5"] and ids(rows, "price!=5,1000") == ["2000000"]


def test_a_field_is_found_whatever_its_case_and_its_own_spelling_first():
    rows = [
        {"id": "a", "text": "x", "Size": 1, "size": 5},
        {"id": "b", "text": "x", "Size": 5, "size": 1, "Color": "r"},
    ]
    assert ids(rows, "Size=1") == ["a"] and ids(rows, "size=1") == ["b"] and ids(rows, "color=r") == ["b"]
