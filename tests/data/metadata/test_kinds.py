"""Kinds of metadata: what makes a column a number, a date, a list or a boolean, and what becomes of the rest."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from calendar import monthrange

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vizsla
from vizsla.cli import main
from vizsla.core.catalog import details_of
from vizsla.core.strings import Strings
from vizsla.core.validation import DatasetWarning
from vizsla.data.columns import ListText
from vizsla.data.metadata_builder import column_of
from vizsla.data.metadata_join import described
from vizsla.data.values import date_span, number_text
from vizsla.errors import InputError


def column(values, kind=None):
    known = [value for value in values if value is not None]
    codes = np.full(len(values), -1, np.int32)
    codes[[at for at, value in enumerate(values) if value is not None]] = np.arange(len(known))
    return column_of(known, codes, kind)


def number(column, at):
    """What a number is compared by, whatever it is shown as."""
    return None if column.missing()[at] else column.number(column.codes[at])


def shop(prices, **options):
    rows = [{"id": str(n), "text": "a thing", "price": price} for n, price in enumerate(prices)]
    return vizsla.Dataset.of(rows, **options)


@pytest.mark.parametrize(
    ("odd", "value"), [("n/a", None), ("$5.00", 5.0), ("1,99", 1.99), ("1e3", 1000.0), ("NaN", None), ("-", None)]
)
@pytest.mark.parametrize("place", [0, 2500, 5000])
def test_one_odd_price_among_thousands_leaves_numbers(odd, value, place):
    rng = random.Random(7)
    numbers = [rng.choice([7.37, 1258.91, round(rng.uniform(0, 2000), 2)]) for _ in range(5000)]
    prices = [f"{number:.2f}" for number in numbers]
    prices.insert(place, odd)
    numbers.insert(place, float("inf") if value is None else value)
    if value is None:
        with pytest.warns(DatasetWarning, match=rf"1 values of 'price' that are no number, such as '{odd}'"):
            items = shop(prices).item_ids
    else:
        items = shop(prices).item_ids
    assert vizsla.where("price<20").mask(items).tolist() == [number < 20 for number in numbers]
    assert details_of(items).value("price", place) == odd and number(details_of(items).column("price"), place) == value
    assert np.flatnonzero(vizsla.where(f'price="{odd}"').mask(items)).tolist() == [
        at for at, price in enumerate(numbers) if (at == place if value is None else price == value)
    ]


@pytest.mark.parametrize(("bad", "kind"), [(5, "number"), (6, "text")])
def test_a_column_is_a_number_from_95_percent_on(bad, kind):
    assert column(["n/a"] * bad + ["5"] * (100 - bad)).kind == kind
    assert column(["soon"] * bad + ["2024-05-01"] * (100 - bad)).kind == ("date" if kind == "number" else "text")
    assert column(["x"] * bad + [ListText('["a"]')] * (100 - bad)).kind == ("list" if kind == "number" else "text")
    assert column(["x"] * bad + [True] * (100 - bad)).kind == ("boolean" if kind == "number" else "text")


@pytest.mark.parametrize(
    ("good", "odd", "kind"),
    [("5", "x", "number"), ("2024-05-01", "x", "date"), (True, "x", "boolean"), (["a"], "x", "list")],
)
def test_what_parses_is_counted_by_items_not_by_distinct_values(good, odd, kind):
    """A value that many items share counts for each of them, whether it parses or not."""
    few_bad = [good] * 95 + [f"{odd}{number}" for number in range(5)]
    assert details_of(shop(few_bad).item_ids).column("price").kind == kind
    assert details_of(shop([*few_bad, "y"]).item_ids).column("price").kind == "text"
    numbers = [str(number) for number in range(94)]
    assert details_of(shop(numbers + ["n/a"] * 6).item_ids).column("price").kind == "text"


def test_empty_values_do_not_count():
    assert column([None] * 900 + ["5"] * 95 + ["x"] * 5).kind == "number"


@pytest.mark.parametrize(
    ("text", "dot", "comma"),
    [
        ("5", 5, 5),
        ("-5.25", -5.25, None),
        ("\u22125", -5, -5),
        ("$1,234.50", 1234.5, None),
        ("1.234,50 €", None, 1234.5),
        ("1,999", 1999, 1.999),
        ("1.999", 1.999, 1999),
        ("1,99", None, 1.99),
        ("1,234,567", 1234567, None),
        ("1.234.567", None, 1234567),
        ("1 234,5", None, 1234.5),
        ("1'234.5", 1234.5, None),
        ("£ 12", 12, 12),
        ("12 USD", 12, 12),
        ("US$3", 3, 3),
        ("1e3", 1000, 1000),
        ("1.5E-2", 0.015, None),
        (".5", 0.5, None),
        ("0,999", None, 0.999),
        ("+7", 7, 7),
        ("-$5", -5, -5),
        ("$-5", -5, -5),
    ],
)
def test_how_numbers_are_written(text, dot, comma):
    read = number_text(text)
    assert (read.dot, read.comma) == (dot, comma)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "n/a",
        "NaN",
        "inf",
        "null",
        "-",
        "--5",
        "-$-5",
        "1.2.3",
        "1,2,3",
        "12,34,5",
        "5 apples",
        "1e",
        "0x10",
        "1_",
        "٣",
        "99999999999999999999",
        "1e999",
        "9007199254740993",
        "5..6",
        "$",
        "1,,000",
        "2024-05-01",
    ],
)
def test_what_is_no_number(text):
    assert number_text(text) is None


@given(st.floats(-(2**53), 2**53, allow_nan=False), st.sampled_from([",", ""]))
def test_numbers_as_programs_write_them_are_read_back(value, mark):
    text = format(value, f"{mark}.4f")
    assert number_text(text).dot == float(text.replace(",", ""))


@pytest.mark.parametrize(
    ("others", "value"),
    [
        (["5.00", "7.25"], 1999),
        (["5,00", "7,25"], 1.999),
        (["1,234,567"], 1999),
        (["1.234.567", "5,00"], 1.999),
        (["1.234", "5,00"], 1.999),
        (["5", "7"], None),
        (["5,00", "7.25"], None),
    ],
)
def test_other_values_decide_what_a_comma_means(others, value):
    found = column([*others * 20, "1,999"])
    assert found.kind == "number" and found.at(len(found) - 1) == "1,999"
    assert number(found, len(found) - 1) == value


def test_a_dot_is_a_point_unless_commas_are():
    assert number(column(["1.999", "5"] * 9), 0) == 1.999 and number(column(["1.999", "5,25"] * 9), 0) == 1999


def test_a_leading_zero_makes_a_column_of_texts_unless_it_is_declared():
    values = [str(n) for n in range(100, 4000)]
    assert column([*values, "00123"]).kind == "text" and column([*values, "0.5", "0"]).kind == "number"
    declared = column([*values, "00123"], "number")
    assert declared.kind == "number" and declared.equal([123]).sum() == 2


def test_values_of_json_keep_their_kind():
    rows = [{"n": 1, "b": True, "l": ["a", 2], "m": 1.5, "big": 2**60, "d": {"x": 1}}] * 3
    details = details_of(vizsla.Dataset.of([{"id": str(n), "text": "t", **row} for n, row in enumerate(rows)]).item_ids)
    assert details.of(0) == {"n": 1, "b": True, "l": ["a", 2], "m": 1.5, "big": str(2**60)}
    assert [column.kind for column in details.columns.values()] == ["number", "boolean", "list", "number", "text"]


def test_long_lists_are_kept_only_by_name():
    row = {"id": "a", "text": "t", "vector": [0.5] * 300}
    assert details_of(vizsla.Dataset.of([row]).item_ids) is None
    assert details_of(vizsla.Dataset.of([row], meta=["vector"]).item_ids).of(0) == {"vector": [0.5] * 300}


@pytest.mark.parametrize("meta", ["tags:list,size:text", ["tags:list", "size:text"], {"tags": "list", "size": "text"}])
def test_kinds_are_declared(meta):
    rows = [
        {"id": "a", "text": "t", "tags": "red | green", "size": 5},
        {"id": "b", "text": "t", "tags": '["red","x"]', "size": 7},
    ]
    items = vizsla.Dataset.of(rows, meta=meta).item_ids
    assert details_of(items).of(0) == {"tags": ["red", "green"], "size": "5"}
    assert vizsla.where("tags=green,x").mask(items).all() and vizsla.where("tags contains x").mask(items).tolist() == [
        False,
        True,
    ]
    with pytest.raises(InputError, match=r'"size:number".*in quotes'):
        vizsla.where("size<6").mask(items)
    assert vizsla.where('size<"6"').mask(items).tolist() == [True, False]


def test_a_star_keeps_the_other_fields():
    items = shop(["5", "7"], meta="*,price:text").item_ids
    assert details_of(items).of(0) == {"price": "5"}
    with pytest.warns(DatasetWarning, match="1 fields that `meta` names and no item has, such as 'color'"):
        shop(["5"], meta={"*": None, "color": "text"})
    with pytest.raises(InputError, match="one of the kinds number, date"):
        shop(["5"], meta={"price": "money"})


def test_kinds_are_declared_on_the_command_line(tmp_path, capsys):
    (tmp_path / "items.csv").write_text(
        "id,text,Price,dc:x\n1,a fig,n/a,1\n2,a fig,cheap,2\n3,a fig,$3.00,3\n4,a pear,30,4\n"
    )
    artifact = str(tmp_path / "idx")
    assert main(["index", "bm25", str(tmp_path / "items.csv"), "--meta", "price:number,dc:x", "-o", artifact]) == 0
    assert "2 values of 'Price' that are no number, such as 'cheap': they count as missing" in capsys.readouterr().err
    main(["search", artifact, "fig", "--where", "price<20 or price=cheap", "--json", "--show", "Price,dc:x"])
    assert {hit["id"]: hit["Price"] for hit in json.loads(capsys.readouterr().out)["hits"]} == {
        "3": "$3.00",
        "2": "cheap",
    }
    main(["inspect", artifact])
    shown = [line.split() for line in capsys.readouterr().out.splitlines() if '"Price"' in line]
    assert shown == [["0", '"Price"', '"number"', "2", "2", '"cheap"']] or "unparsed" in str(shown)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T02:00+02:00", 0),
        ("1970-01-01 02:00+0200", 0),
        ("1969-12-31T19:00:00-05", 0),
        ("1970-01-01T00:00:00.5", 500_000),
        ("1970-01-01T00:00:00,123456789Z", 123_456),
        ("2024-02-29", 19_782 * 86_400_000_000),
        ("0001-01-01T00:00+14:00", -62_135_647_200_000_000),
    ],
)
def test_dates_are_utc_unless_they_name_a_zone(text, start):
    assert date_span(text)[0] == start


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-30",
        "2023-02-29",
        "2024-13-01",
        "2024-00-10",
        "2024-05-32",
        "2024-05-01T25:00",
        "2024-05-01T12:61",
        "24-05-01",
        "2024-05-01T12:00+25:00",
        "2024/05/01",
        "2024-5-1",
        "0000-01-01",
        "2024-05-01T",
        "soon",
        "20240501",
        "2024-05-01x",
    ],
)
def test_impossible_dates_do_not_parse(text):
    assert date_span(text) is None
    days = column([text] + ["2024-05-01"] * 19)
    assert days.kind == "date" and days.missing()[0] and days.at(0) == text and days.equal([text])[0]


def test_a_day_a_month_and_a_year_hold_what_lies_within():
    days = column(["2024-05-01T12:00", "2024-05-31T23:59:59.9", "2024-06-01", "2023-12-31"])
    assert days.equal(["2024-05"]).tolist() == [True, True, False, False]
    assert days.ordered("lte", "2024-05-31").tolist() == [True, True, False, True]
    assert days.ordered("gt", "2024-05-31").tolist() == [False, False, True, False]
    assert days.ordered("gte", 2024).tolist() == [True, True, True, False]
    with pytest.raises(InputError, match="must give a date"):
        days.ordered("lt", "2024-02-30")


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata", "UTC"])
def test_the_zone_of_the_process_does_not_matter(zone):
    script = (
        "import time; time.tzset(); import vizsla\n"
        "rows = [{'id': str(n), 'text': 't', 'day': day} for n, day in enumerate("
        "['2024-05-01', '2024-05-01T00:30:00', '2024-04-30T23:30:00-01:00', '2024-05-01T23:59+09:00', "
        "'2024-04-30T23:59'])]\n"
        "print(vizsla.where('day=2024-05-01').mask(vizsla.Dataset.of(rows).item_ids).tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={**os.environ, "TZ": zone}
    )
    assert done.stdout.strip() == "[True, True, True, True, False]"


def test_python_dates_and_missing_floats():
    from datetime import UTC, date, datetime

    rows = [{"day": date(2024, 5, 1), "n": float("nan")}, {"day": datetime(2024, 5, 2, tzinfo=UTC), "n": np.int64(3)}]
    details = details_of(vizsla.Dataset.of([{"id": str(n), "text": "t", **row} for n, row in enumerate(rows)]).item_ids)
    assert details.of(0) == {"day": "2024-05-01"} and details.of(1) == {"day": "2024-05-02T00:00:00+00:00", "n": 3}
    assert details.column("day").kind == "date" and details.unparsed() == {}


def test_added_items_follow_the_kinds_of_the_catalog():
    first = vizsla.tfidf(vizsla.Dataset.of([{"id": "a", "text": "a fig", "price": "5.00", "version": "1.x"}]))
    with pytest.warns(DatasetWarning, match=r"1 new values of 'price' are no number, such as 'cheap'"):
        more = first.with_items(vizsla.Dataset.of([{"id": "b", "text": "a pear", "price": "cheap", "version": "1.10"}]))
    details = details_of(more.items)
    assert (details.column("price").kind, details.column("version").kind) == ("number", "text")
    assert details.of(1) == {"price": "cheap", "version": "1.10"}
    assert vizsla.where("price<9").mask(more.items).tolist() == [True, False]
    assert vizsla.where("version=1.10").mask(more.items).tolist() == [False, True]


def test_all_values_of_shards_decide_where_their_kinds_differ():
    def part(start, prices):
        rows = [{"id": str(start + n), "text": "a fig", "price": price} for n, price in enumerate(prices)]
        return vizsla.Dataset.of(rows)

    few, many = part(0, ["n/a", "5"]).item_ids, part(2, [str(n) for n in range(60)]).item_ids
    assert details_of(few).column("price").kind == "text"
    both = described(Strings.of([*few, *many]), [few, many])
    assert details_of(both).column("price").kind == "number"
    assert vizsla.where("price<2").mask(both).sum() == 2
    one = part(2, ["7.00"]).item_ids
    texts = described(Strings.of([*few, *one]), [few, one])
    assert [details_of(texts).value("price", n) for n in range(3)] == ["n/a", "5", "7.00"]


def test_fields_of_all_catalogs_are_joined():
    first = vizsla.Dataset.of(
        [{"id": "a", "text": "t", "x": 1}, {"id": "b", "text": "t", "x": None, "y": "own"}]
    ).item_ids
    second = vizsla.Dataset.of(
        [{"id": "b", "text": "t", "x": 2, "y": "other"}, {"id": "a", "text": "t", "z": "new"}]
    ).item_ids
    details = details_of(described(first, [first, second]))
    assert [details.of(n) for n in range(2)] == [{"x": 1, "z": "new"}, {"x": 2, "y": "own"}]


VALUES = st.sampled_from(
    [None, "5", "7.5", "n/a", 3, True, "true", "2024-05-01", ListText('["a"]'), "a|b", "007", "$1,5"]
)


@given(
    st.lists(VALUES, min_size=1, max_size=30),
    st.sampled_from([None, "number", "date", "text", "list", "boolean"]),
    st.data(),
)
def test_what_is_taken_is_what_was_there(values, kind, data):
    whole = column(values, kind)
    numbers = data.draw(st.lists(st.integers(-1, len(values) - 1)))
    part = whole.take(np.array(numbers, np.int64))
    assert part.kind == whole.kind
    assert [part.at(n) for n in range(len(numbers))] == [None if n < 0 else whole.at(n) for n in numbers]
    assert part.missing().tolist() == [n < 0 or bool(whole.missing()[n]) for n in numbers]
    again = column_of(whole.raw(), whole.codes, whole.kind)
    assert [again.at(n) for n in range(len(values))] == [whole.at(n) for n in range(len(values))]


@pytest.mark.parametrize(
    "texts", [["0.5", "0.75", "1.25"], ["0,5", "0,75", "1,25"], ["0", "0.0", "10"], ["-0.5", "+0.25", "0"]]
)
def test_a_zero_before_the_point_is_no_leading_zero(texts):
    """Prices below one are numbers, not codes such as 00123."""
    found = column(texts * 7)
    assert found.kind == "number" and not found.missing().any()
    assert [number(found, at) for at in range(3)] == [float(text.replace(",", ".")) for text in texts]


@pytest.mark.parametrize("year", [1, 1969, 2023, 2024, 9999])
def test_years_and_months_are_as_long_as_in_the_calendar(year):
    assert date_span(f"{year:04}")[0] == date_span(f"{year:04}-01-01")[0]
    assert date_span(f"{year:04}")[1] == date_span(f"{year:04}-12-31")[1]
    for month in range(1, 13):
        last = monthrange(year, month)[1]
        start, end = date_span(f"{year:04}-{month:02}")
        assert start == date_span(f"{year:04}-{month:02}-01")[0]
        assert end == date_span(f"{year:04}-{month:02}-{last}")[1]
    assert date_span(f"{year:04}-13") is None and date_span(f"{year:04}-00") is None


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["true", "False"], "boolean"),
        (["yes", "no"], "text"),
        (["true", "no"], "text"),
        (["on", "off"], "text"),
        (["t", "f"], "text"),
        (["1", "0"], "number"),
    ],
)
def test_only_true_and_false_make_a_column_of_booleans_unless_it_is_declared(texts, kind):
    assert column(texts * 10).kind == kind
    declared = column(texts * 10, "boolean")
    assert declared.kind == "boolean" and declared.equal([True]).tolist() == [True, False] * 10
    assert declared.equal([False]).tolist() == [False, True] * 10


@pytest.mark.parametrize("given", [str, int])
@pytest.mark.parametrize("start", [1, 9])
@pytest.mark.parametrize("digits", range(14, 22))
def test_numbers_of_any_length_that_differ_are_told_apart(digits, start, given):
    """Such as ids: what a float cannot hold exactly is a text."""
    written = [f"{start}{'0' * (digits - 2)}{last}" for last in range(1, 10)]
    items = shop([given(text) for text in written]).item_ids
    for place, text in enumerate(written):
        for asked in (f"price={text}", f"price in ({text}, nothing)", f'price="{text}"'):
            assert np.flatnonzero(vizsla.where(asked).mask(items)).tolist() == [place], asked
        assert str(details_of(items).of(place)["price"]) == text
    assert details_of(items).column("price").kind == ("number" if digits <= 16 else "text")


@pytest.mark.parametrize("gone", [(), ("no", "off"), ("true", "1", "y"), ("maybe", "no", "off"), ("true", "perhaps")])
def test_true_false_and_what_is_neither_keep_apart(gone, tmp_path):
    """Whatever was removed or came later, and after the rest is saved."""
    given = ["maybe", "no", "true", "", "perhaps", "off", "maybe", "1", "y"]
    flags = {"true": True, "1": True, "y": True, "no": False, "off": False}
    search = vizsla.bm25(shop(given, meta="price:boolean"))
    fewer = search.without_items([str(number) for number, text in enumerate(given) if text in gone])
    left, later = [text for text in given if text not in gone], ["a bit", "perhaps", "y", "off", "quite"]
    more = fewer.with_items([{"id": f"new {text}", "text": "a thing", "price": text} for text in later])
    saved = vizsla.load(more.save(tmp_path / "saved"))
    for made, own in ((search, given), (fewer, left), (more, left + later), (saved, left + later)):
        details = details_of(made.items)
        assert details.column("price").kind == "boolean"
        wanted = [{"price": flags.get(text, text)} if text else {} for text in own]
        assert [details.of(number) for number in range(len(own))] == wanted
        for asked, flag in (("price=true", True), ("price=false", False)):
            assert vizsla.where(asked).mask(made.items).tolist() == [flags.get(text) is flag for text in own]


@pytest.mark.parametrize("odd", ["2024-02-30", "01/02/2024", "soon"])
def test_texts_that_are_mostly_dates_are_not_compared_with_a_date(odd):
    """Too many are no dates for a column of dates; as characters, 01/02/2024 is before every other year."""
    texts = [*(f"2023-01-{day:02d}" for day in range(1, 29)), odd, f"{odd} or so"]
    with pytest.warns(DatasetWarning, match="most of which are of kind date, is 'price': declare"):
        ids = shop(texts).item_ids
    for condition in ("price<2023-01-03", "price=2023-01-03..2023-01-09", "price>='2023-01-03T10:00:00Z'"):
        with pytest.raises(InputError, match=r'Got .*meta="price:date"'):
            vizsla.where(condition).mask(ids)
    assert vizsla.where("price=2023-01-03").mask(ids).sum() == 1  # as it was written
    assert vizsla.where(f'price="{odd}"').mask(ids).sum() == 1
    with pytest.warns(DatasetWarning, match="2 values of 'price' that are no date"):
        declared = shop(texts, meta="price:date").item_ids
    assert vizsla.where("price<2023-01-03").mask(declared).sum() == 2
    as_text = shop(texts, meta="price:text").item_ids
    assert vizsla.where("price<2023-01-03").mask(as_text).sum() == sum(text < "2023-01-03" for text in texts)


def test_texts_that_are_mostly_numbers_are_not_sorted_by_their_characters():
    """In the order of characters 100 is before 9."""
    texts = [*map(str, (9, 10, 100, 25, 3, 7, 8, 11)), "ask"]
    with pytest.warns(DatasetWarning, match="most of which are of kind number, is 'price': declare"):
        found = vizsla.bm25(shop(texts))
    with pytest.raises(InputError, match=r'`sort` must not be a field of mixed kinds.*meta="price:number"'):
        found.page("thing", sort="price")
    with pytest.warns(DatasetWarning, match="1 values of 'price' that are no number"):
        declared = vizsla.bm25(shop(texts, meta="price:number"))
    prices = [texts[int(hit.id)] for hit in declared.page("thing", sort="price").hits]
    assert prices == [*map(str, sorted(map(int, texts[:-1]))), "ask"]
    as_text = vizsla.bm25(shop(texts, meta="price:text"))
    assert [texts[int(hit.id)] for hit in as_text.page("thing", sort="price").hits] == sorted(texts)


@pytest.mark.parametrize(
    "texts",
    [
        ["Ace", "Bo", "2023-01-01", "2024 edition", "Cy"],
        ["S", "M", "L", "38", "40", "42"],
        [f"{number:05d}" for number in range(20)],  # article numbers: all have five digits
        ["1", "2", "x"],
    ],
)
def test_other_texts_are_compared_and_sorted_by_their_characters(texts, recwarn):
    ids = shop(texts).item_ids
    assert not recwarn.list
    assert vizsla.where("price<'2023-06-01'").mask(ids).tolist() == [text < "2023-06-01" for text in texts]
    found = vizsla.bm25(shop(texts)).page("thing", 20, sort="price").hits
    assert [texts[int(hit.id)] for hit in found] == sorted(texts)
