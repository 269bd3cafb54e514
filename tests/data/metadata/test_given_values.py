"""Values as databases and frames give them: none is lost without a word."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date, datetime, time
from decimal import Decimal
from uuid import UUID

import numpy as np
import pytest

import vizsla
from vizsla import Dataset, where
from vizsla.core.catalog import details_of
from vizsla.core.validation import DatasetWarning
from vizsla.errors import InputError
from vizsla.io.fields import Fields

PRICES = [Decimal("1.50"), Decimal("1.999"), None, Decimal("20")]
NUMBERS = "00000000-0000-0000-0000-00000000000"


def rows(**fields):
    count = len(next(iter(fields.values())))
    return [{"id": str(n), "text": "a fig", **{name: fields[name][n] for name in fields}} for n in range(count)]


def sources(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    prices = pyarrow.array(PRICES, pyarrow.decimal128(10, 3))
    table = pyarrow.table({"id": list("0123"), "text": ["a fig"] * 4, "price": prices})
    parquet.write_table(table, tmp_path / "items.parquet")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": list("0123"), "text": ["a fig"] * 4, "price": PRICES})
    return {"arrow": table, "parquet": tmp_path / "items.parquet", "pandas": frame, "dicts": rows(price=PRICES)}


@pytest.mark.parametrize("meta", [None, "price", "price:number", "*"])
@pytest.mark.parametrize("source", ["arrow", "parquet", "pandas", "dicts"])
def test_decimals_are_numbers(source, meta, tmp_path, recwarn):
    given = sources(tmp_path)[source]
    read = vizsla.open_dataset if source == "parquet" else Dataset.of
    items = read(given, meta=meta).item_ids
    column = details_of(items).column("price")
    assert column.kind == "number" and not recwarn.list
    assert where("price<1.9").mask(items).tolist() == [True, False, False, False]
    assert where("price=1.50,20").mask(items).tolist() == [True, False, False, True]
    assert where("price is null").mask(items).tolist() == [False, False, True, False]
    digits = "1.500" if source in ("arrow", "parquet") else "1.50"
    assert details_of(items).of(0)["price"] == digits, "a price keeps its digits"


def test_a_decimal_is_never_read_as_another_number():
    european = vizsla.tfidf(Dataset.of(rows(price=["5,50"] * 30)))
    more = [{"id": "new", "text": "a fig", "price": Decimal("2.500")}]
    assert european.with_items(more)("fig", where=where("price=2.5")).ids == [["new"]]
    mixed = Dataset.of(rows(price=["5,50"] * 30 + [Decimal("2.500"), Decimal("NaN"), Decimal("1E+2")])).item_ids
    assert np.flatnonzero(where("price=2.5").mask(mixed)).tolist() == [30]
    assert where("price=100").mask(mixed)[32] and where("price is null").mask(mixed)[31]


@pytest.mark.parametrize("meta", [None, ["thing"]])
@pytest.mark.parametrize(
    ("values", "kind", "shown"),
    [
        ([UUID(NUMBERS + "1"), UUID(NUMBERS + "2")], "text", NUMBERS + "1"),
        ([time(9, 30), time(10)], "text", "09:30:00"),
        ([date(2024, 5, 1), datetime(2024, 5, 2, 3)], "date", "2024-05-01"),
        (
            [np.datetime64("2024-05-01T12:00:00.000000001"), np.datetime64("NaT")],
            "date",
            "2024-05-01T12:00:00.000000001",
        ),
        ([{"b", "a", None, "c"}, {"x"}], "list", ["a", "b", "c"]),
        ([["a", None], [None]], "list", ["a"]),
        ([[Decimal("1.5"), UUID(NUMBERS + "1")], []], "list", ["1.5", NUMBERS + "1"]),
    ],
)
def test_other_things_are_kept_as_they_are_written(values, kind, shown, meta, recwarn):
    details = details_of(Dataset.of(rows(thing=values), meta=meta).item_ids)
    assert details.column("thing").kind == kind and details.of(0)["thing"] == shown
    assert not recwarn.list


def test_sets_are_in_one_order_in_every_process():
    script = (
        "import vizsla; from vizsla.core.catalog import details_of\n"
        "rows = [{'id': 'a', 'text': 't', 'tags': {'red', 'green', 'blue', 'x', 3, 20}}]\n"
        "print(details_of(vizsla.Dataset.of(rows).item_ids).of(0)['tags'])"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in "1234"
    }
    assert said == {"[20, 3, 'blue', 'green', 'red', 'x']\n"}


class Thing:
    """Says nothing of itself."""


@pytest.mark.parametrize("value", [{"x": 1}, [0.5] * 300, [{"x": 1}], b"bytes", Thing()])
def test_what_is_left_out_is_counted(value):
    with pytest.warns(DatasetWarning, match=rf"2 values of 'thing' that are left out, .* {type(value).__name__}"):
        data = Dataset.of(rows(thing=[value, value], price=[1, 2]))
    assert details_of(data.item_ids).fields == ("price",)


def test_what_is_named_is_json_and_what_cannot_be_is_counted():
    data = Dataset.of(rows(thing=[{"day": date(2024, 5, 1)}, {"price": Decimal("1.50")}]), meta="thing")
    assert [details_of(data.item_ids).of(n)["thing"] for n in range(2)] == [
        '{"day": "2024-05-01"}',
        '{"price": "1.50"}',
    ]
    with pytest.warns(DatasetWarning, match="1 values of 'thing' that are left out, such as one of type Thing"):
        Dataset.of(rows(thing=[Thing(), 5]), meta="thing")


def test_names_that_no_item_has_are_reported():
    with pytest.warns(DatasetWarning, match="2 fields that `meta` names and no item has, such as 'colour'"):
        Dataset.of(rows(price=[1, 2]), meta=["price", "colour", "size"])


@pytest.mark.parametrize("meta", [["price:nmber"], "price:nmber,size", {"price:nmber": None}])
def test_a_kind_that_there_is_not_raises(meta, tmp_path):
    with pytest.raises(InputError, match="`meta` must give 'price' one of the kinds number, .* Got 'nmber'"):
        Dataset.of(rows(price=[1, 2]), meta=meta)
    (tmp_path / "items.jsonl").write_text('{"id": "a", "text": "t", "price": 1}\n')
    with pytest.raises(InputError, match="Got 'nmber'"):
        vizsla.open_dataset(tmp_path / "items.jsonl", meta=meta)
    names = [{"id": "a", "text": "t", "dc:title": "x", "dc": 1}]
    assert details_of(Dataset.of(names, meta="dc:title").item_ids).of(0) == {"dc:title": "x"}
    assert Fields.named(meta="dc:title").meta == ("dc:title",)


@pytest.mark.parametrize(
    ("value", "shown"), [("$5.00", "$5.00"), ("1.10", "1.10"), ("5", "5"), (5, 5), (5.5, 5.5), (5.0, 5)]
)
def test_a_number_is_shown_as_it_was_given(value, shown, tmp_path):
    items = Dataset.of(rows(price=[value, "7.25"])).item_ids
    saved = vizsla.load(vizsla.bm25(Dataset.of(rows(price=[value, "7.25"]))).save(tmp_path / "idx"))
    for known in (items, saved.items):
        given = details_of(known).of(0)["price"]
        assert given == shown and type(given) is type(shown)
    again = vizsla.tfidf(Dataset.of(rows(price=[value, "7.25"]))).with_items({"new": "a fig"})
    assert details_of(again.items).of(0)["price"] == shown


def test_numbers_are_asked_for_as_numbers_and_as_they_are_written():
    items = Dataset.of(rows(price=["$5.00", "6", 7])).item_ids
    for condition in ("price=5", "price=5.00", 'price="$5.00"', "price=$5.00", "price<6"):
        assert where(condition).mask(items).tolist() == [True, False, False]
    european = Dataset.of(rows(price=["1.999", "5,50", "5,75"])).item_ids
    assert where('price="1.999"').mask(european)[0] and where("price=1999").mask(european)[0]
    assert not where("price=1.999").mask(european).any()


@pytest.mark.parametrize(
    "value", ["555 123 456", "192.168.001.001", "1.10.3", "1 23 456", "0 123 456", "1.234 567", "1.234.56", "12 34"]
)
def test_telephones_addresses_and_versions_are_texts(value):
    for extra in ([], ["7"] * 3, ["950.5"] * 3):
        details = details_of(Dataset.of(rows(thing=[value] * 4 + extra)).item_ids)
        assert details.column("thing").kind == "text" and details.of(0)["thing"] == value


@pytest.mark.parametrize(
    ("values", "number"),
    [
        (["1.234.567", "5,50"], 1234567),
        (["1 234 567", "5 000"], 1234567),
        (["1 234 567", "5 000,50"], 1234567),
        (["1 234 567 €", "5 €"], 1234567),
        (["1,234,567", "5"], 1234567),
        (["1'234'567", "5"], 1234567),
    ],
)
def test_groups_of_thousands_count_where_others_are_numbers(values, number):
    items = Dataset.of(rows(price=values)).item_ids
    assert where(f"price={number}").mask(items).tolist() == [True, False]


def test_declared_numbers_may_have_groups_without_others():
    items = Dataset.of(rows(price=["555 123 456", "1.234.567"]), meta="price:number").item_ids
    assert where("price=555123456").mask(items)[0] and where("price=1234567").mask(items)[1]


@pytest.mark.parametrize("meta", [None, "price", "price:number", "price:text"])
@pytest.mark.parametrize("written", ["NaN", "sNaN", "-NaN", "Infinity", "-Infinity"])
def test_a_decimal_that_is_no_finite_number_is_missing(written, meta):
    odd = Decimal(written)
    items = Dataset.of(rows(price=[odd, *[Decimal("1.50")] * 30]), meta=meta).item_ids
    assert "price" not in details_of(items).of(0) and details_of(items).of(1)["price"] == "1.50"
    assert np.flatnonzero(where("price is null").mask(items)).tolist() == [0]
    listed = Dataset.of(rows(price=[[odd, Decimal("1.50")], [odd]])).item_ids
    assert [details_of(listed).of(row) for row in range(2)] == [{"price": ["1.50"]}, {}]
