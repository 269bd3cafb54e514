"""Weights, times, grades, ids and fields of single records, and the format of a file by its first line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from vizsla.core.catalog import Item
from vizsla.errors import DataError, InputError
from vizsla.io.fields import ITEM_FIELDS, Fields, id_from, item_from, metadata_from, query_from, sniff
from vizsla.io.files import Line
from vizsla.io.interactions import grade_of, time_of, timestamp_of, weight_of

LINE = Line(Path("x.csv"), 3)
DAY = 86_400.0


@pytest.mark.parametrize(("text", "weight"), [("0", 0), (" 2.5 ", 2.5), ("1e3", 1000), ("2.9e38", 2.9e38)])
def test_weights(text, weight):
    assert weight_of(text, LINE) == weight
    for wrong in ("-0.1", "nan", "inf", "3e38", "x", ""):
        with pytest.raises(DataError, match="line 3") as caught:
            weight_of(wrong, LINE)
        assert "0 or more" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "grade"),
    [("2", 2), ("2.0", 2), ("-1", -1), (" 3 ", 3), ("2147483647", 2**31 - 1), ("-2147483647", -(2**31) + 1)],
)
def test_grades(text, grade):
    assert grade_of(text, LINE) == grade
    for wrong in ("0.5", "x", "", "nan", "inf", "2147483648"):
        with pytest.raises(DataError, match="whole number"):
            grade_of(wrong, LINE)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-02", DAY),
        ("1970-01-01T00:00:01.25Z", 1.25),
        ("1970-01-01 01:00:00+01:00", 0.0),
        ("0", 0.0),
        (" 86400.5 ", 86_400.5),
        ("-1", -1.0),
        ("19700103", 2 * DAY),
        ("20000101", 946_684_800.0),
        ("18700101", 18_700_101.0),
        ("99999999999", 99_999_999_999.0),
        ("100000000000", 100_000_000.0),
        ("1700000000000", 1.7e9),
        ("19701301", None),
        ("1e300", None),
        ("nan", None),
        ("2024-02-30", None),
        ("soon", None),
        ("", None),
    ],
)
def test_times_are_dates_seconds_or_milliseconds(text, seconds):
    found = timestamp_of(text)
    assert found == seconds or (seconds is None and (found is None or found != found))
    if seconds is None:
        with pytest.raises(DataError, match="the time must be like"):
            time_of(text, LINE)
    else:
        assert time_of(text, LINE) == seconds


@pytest.mark.parametrize(
    ("record", "fields", "item"),
    [
        ({"id": 7, "text": "fig"}, {}, Item("7", "fig")),
        ({"_id": "a", "id": "b", "text": "fig"}, {}, Item("a", "fig", "", {"id": "b"})),
        ({"sku": "a", "name": "Fig", "description": "sweet", "price": 3}, {}, Item("a", "sweet", "Fig", {"price": 3})),
        ({"id": "a", "text": "fig", "title": None}, {}, Item("a", "fig")),
        ({"id": "a", "text": "fig", "metadata": {"x": 1, "y": 2}, "y": 3}, {}, Item("a", "fig", "", {"x": 1, "y": 3})),
        ({"id": "a", "text": "fig", "metadata": "m"}, {}, Item("a", "fig", "", {"metadata": "m"})),
        ({"id": "a", "t": "fig", "text": "other"}, {"text": "t"}, Item("a", "fig", "", {"text": "other"})),
        (
            {"id": "a", "x": "fig", "y": "", "z": None},
            {"text": "x,y,z"},
            Item("a", "fig", "", {"x": "fig", "y": "", "z": None}),
        ),
        ({"id": "a", "x": "fig", "y": "jam"}, {"text": "x,y", "meta": "y"}, Item("a", "fig jam", "", {"y": "jam"})),
        ({"id": "a", "text": "fig", "p": 1, "q": 2}, {"meta": ["q", "none"]}, Item("a", "fig", "", {"q": 2})),
        ({"id": "a", "text": "fig", "metadata": {"x": 1}, "q": 2}, {"meta": "x"}, Item("a", "fig", "", {"x": 1})),
        ({"k": "a", "b": "fig", "h": "Fig"}, {"id": "k", "text": "b", "title": "h"}, Item("a", "fig", "Fig")),
    ],
)
def test_an_item_of_a_record(record, fields, item):
    found = item_from(record, LINE, Fields.named(**fields) if fields else ITEM_FIELDS)
    assert (found.id, found.text, found.title, dict(found.metadata)) == (
        item.id,
        item.text,
        item.title,
        dict(item.metadata),
    )


@pytest.mark.parametrize(
    ("record", "fields", "message"),
    [
        ({"text": "fig"}, {}, "must have an id"),
        ({"id": "a"}, {}, "must have a text"),
        ({"id": "", "text": "x"}, {}, "not empty"),
        ({"id": True, "text": "x"}, {}, "whole number"),
        ({"id": 1.5, "text": "x"}, {}, "whole number"),
        ({"id": "a", "text": 3}, {}, "must be a text"),
        ({"id": "a", "text": "\ud800"}, {}, "surrogate"),
        ({"id": "a", "x": "fig"}, {"text": "x,y"}, "must have a text"),
        ({}, {}, "no field"),
    ],
)
def test_records_that_describe_no_item(record, fields, message):
    with pytest.raises(DataError, match=message):
        item_from(record, LINE, Fields.named(**fields) if fields else ITEM_FIELDS)
    with pytest.raises(InputError, match="one of the kinds"):
        item_from({"id": "a", "text": "x", "p": 1}, LINE, Fields(("id",), ("text",), meta=("p:color",)))


def test_queries_and_what_is_left_of_a_record():
    found = query_from({"qid": "1", "query": "fig", "kind": "x"}, LINE)
    assert (found.id, found.text, dict(found.metadata)) == ("1", "fig", {"kind": "x"})
    assert dict(metadata_from({"a": 1, "b": 2}, {"a", None})) == {"b": 2} and dict(metadata_from({"a": 1}, {"a"})) == {}
    assert id_from({"id": -3}, "id", LINE) == "-3" and id_from({"id": " "}, "id", LINE) == " "


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.JSON", "", "jsonl"),
        ("a.ndjson", "", "jsonl"),
        ("a.csv.gz", "", "csv"),
        ("a.tsv", "", "tsv"),
        ("a.parquet", "", "parquet"),
        ("a.txt", "PAR1x", "parquet"),
        ("a.txt", "\n  \n <top>", "trec"),
        ("a", '{"id": 1}', "jsonl"),
        ("a", "x\ty", "tsv"),
        ("a", "sku,price", "csv"),
        ("a", '"ID";"price"', "csv"),
        ("a", "id|x", "csv"),
        ("a", "id", None),
        ("a", "price,color", None),
        ("a", "", None),
        ("a", "two words", None),
    ],
)
def test_a_format_is_told_by_the_name_or_by_the_first_line(name, content, kind, tmp_path):
    file = tmp_path / name
    data = content.encode()
    file.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert sniff(file) == kind
