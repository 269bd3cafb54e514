"""Data frames as items, queries, clicks and judgments; and what would be read as texts by accident is refused."""

from __future__ import annotations

import io
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import vizsla
from vizsla import Dataset, FunctionScorer, bm25, tfidf
from vizsla.core.catalog import details_of
from vizsla.errors import DataError, InputError, VizslaError
from vizsla.learning.clicks import click_triples

ITEMS = {
    "SKU": ["f1", "p1", "l1"],
    "Title": ["Fig", "Pear", None],
    "description": ["a sweet fig", None, "a sour lime"],
    "price": [3.5, None, 2.0],
    "stock": [True, False, True],
    "added": [datetime(2024, 5, 1), datetime(2024, 5, 2), None],
}
CSV = """SKU,Title,description,price,stock,added
f1,Fig,a sweet fig,3.5,True,2024-05-01T00:00:00
p1,Pear,,,False,2024-05-02T00:00:00
l1,,a sour lime,2.0,True,
"""


class Stream:
    """A table of a library that nobody knows, which speaks Arrow's protocol."""

    def __init__(self, data):
        self._table = pa.table(data)

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class Interchange:
    """A table that speaks the interchange protocol alone."""

    def __init__(self, data):
        self._table = pa.table(data)

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self._table.__dataframe__(nan_as_null, allow_copy)


FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "batch": lambda data: pa.RecordBatch.from_pydict(data),
    "reader": lambda data: pa.table(data).to_reader(),
    "stream": Stream,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_is_read_as_the_same_file_is(kind: str, tmp_path: Path) -> None:
    found = Dataset.of(FRAMES[kind](ITEMS), keep_texts=True)
    (tmp_path / "items.csv").write_text(CSV)
    wanted = Dataset.open(tmp_path / "items.csv", keep_texts=True)
    assert list(found.item_ids) == list(wanted.item_ids) == ["f1", "p1", "l1"]
    assert [(item.text, item.title) for item in found.items] == [(item.text, item.title) for item in wanted.items]
    assert found.mapping == "items: id SKU; text Title + description; metadata price, stock, added"
    query = "sweet fig"
    assert bm25(found)(query).to_dict() == bm25(wanted)(query).to_dict()
    first = bm25(found)(query, k=1).metadata(0)[0]
    assert (first["price"], first["stock"], first["added"]) == (3.5, True, "2024-05-01T00:00:00")
    assert dict(found.items[1].metadata) == {"stock": False, "added": "2024-05-02T00:00:00"}


def test_the_interchange_protocol_is_read_too() -> None:
    found = Dataset.of(Interchange({"id": ["a", "b"], "text": ["fig", "pear"], "n": [1, 2]}))
    assert [(item.id, item.text, dict(item.metadata)) for item in found.items] == [
        ("a", "fig", {"n": 1}),
        ("b", "pear", {"n": 2}),
    ]


@pytest.mark.parametrize("kind", FRAMES)
def test_columns_can_be_named(kind: str) -> None:
    data = {"key": [7, 8], "head": ["Fig", "Pear"], "one": ["sweet", "sour"], "two": ["x", "y"], "brand": ["A", "B"]}
    found = Dataset.of(FRAMES[kind](data), id="key", text="one,two", title="head", meta="brand")
    assert [tuple(item) for item in found.items] == [
        ("7", "sweet x", "Fig", {"brand": "A"}),
        ("8", "sour y", "Pear", {"brand": "B"}),
    ]
    with pytest.raises(DataError, match="no column of the header is known as an id"):
        Dataset.of(FRAMES[kind]({"nothing": ["a"], "text": ["b"]}))
    with pytest.raises(DataError, match="there is no column 'sku'"):
        Dataset.of(FRAMES[kind](data), id="sku", text="one")


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "stream"])
def test_queries_clicks_and_judgments_may_be_frames(kind: str) -> None:
    frame = FRAMES[kind]
    items, queries = frame({"id": ["f", "p"], "text": ["fig", "pear"]}), frame({"qid": [1, 2], "query": ["figs", "x"]})
    times = [datetime(2024, 5, 1), datetime(2024, 5, 2), datetime(2024, 5, 3)]
    clicks = frame({"query_id": [1, 1, 2], "item": ["f", "f", "p"], "count": [2, 1, 5], "time": times})
    grades = frame({"query": ["1", "2"], "item": ["f", "p"], "score": [2.0, 0.0]})
    found = Dataset.of(items, queries=queries, clicks=clicks, qrels=grades)
    assert found.clicks.toarray().tolist() == [[3, 0], [0, 5]] and found.events is not None
    assert found.qrels("test").toarray().tolist() == [[2, 0], [0, 0]]
    assert Dataset.of(items, queries=queries, qrels={"dev": grades}).splits == ("dev",)
    odd = frame({"asked": ["figs"], "chosen": ["f"]})
    assert Dataset.of(items, clicks=odd, click_columns={"query": "asked", "item": "chosen"}).clicks.nnz == 1
    with pytest.raises(DataError, match="a column must be called one of"):
        Dataset.of(items, clicks=odd)
    with pytest.raises(InputError, match="`click_columns` must name query, item, weight or time. Got 'who'"):
        Dataset.of(items, clicks=odd, click_columns={"who": "asked"})


def test_rows_that_hold_no_item_are_named() -> None:
    for wrong, problem in (
        ({"id": ["a", None], "text": ["x", "y"]}, "items, line 2: 'id' must be a text, not empty, or a whole number"),
        ({"id": [1.0, 2.5], "text": ["x", "y"]}, "items, line 1: 'id' must be a text"),
        ({"id": ["a", "b"], "text": ["x", 5]}, "items, line 2: 'text' must be a text. Got 5"),
        ({"id": ["a", "a"], "text": ["x", "y"]}, "the id 'a' was given before"),
    ):
        with pytest.raises(DataError, match=problem):
            Dataset.of(pd.DataFrame(wrong, dtype=object))
    with pytest.raises(DataError, match="clicks, line 1: ids must be texts or whole numbers. Got 1.5"):
        Dataset.of(["x"], clicks=pd.DataFrame({"query": [1.5], "item": ["0"]}))
    with pytest.raises(DataError, match="clicks, line 1: the query or the item is empty"):
        Dataset.of(["x"], clicks=pl.DataFrame({"query": [None], "item": ["0"]}))


def test_pandas_columns_of_all_kinds() -> None:
    frame = pd.DataFrame({"text": ["a", "b", "c"]}, index=pd.Index(["x", "y", "z"], name="id"))
    frame["mixed"] = pd.Series([1, "n/a", None], index=frame.index, dtype=object)
    frame["kind"] = pd.Categorical(["red", None, "green"])
    frame["whole"] = pd.array([1, pd.NA, 3], dtype="Int64")
    frame["when"] = pd.to_datetime(["2024-05-01", None, "2024-05-03"])
    frame[7] = [1.5, float("nan"), 2.5]
    found = [dict(item.metadata) for item in Dataset.of(frame).items]
    assert found == [
        {"mixed": 1, "kind": "red", "whole": 1, "when": "2024-05-01T00:00:00", "7": 1.5},
        {"mixed": "n/a"},
        {"kind": "green", "whole": 3, "when": "2024-05-03T00:00:00", "7": 2.5},
    ]
    twice = pd.DataFrame([["a", "b", "c"]], columns=["id", "text", "text"])
    with pytest.raises(DataError, match="every column must have a name of its own. Got 'text' twice"):
        Dataset.of(twice)
    with pytest.raises(InputError, match="plain column names"):
        Dataset.of(pd.DataFrame([["a", "b"]], columns=pd.MultiIndex.from_tuples([("x", "id"), ("x", "text")])))


def test_dicts_have_flat_metadata_and_a_nested_one() -> None:
    nested = {"color": "green", "price": 9}
    rows = [{"id": "f", "text": "fig", "price": 3, "metadata": nested}, {"id": "p", "text": "x"}]
    for given in (rows, tuple(rows), (row for row in rows), pd.DataFrame(rows)):
        found = Dataset.of(given)
        assert dict(found.items[0].metadata) == {"price": 3, "color": "green"} and not found.items[1].metadata
    assert list(Dataset.of([{"sku": "s1", "description": "fig"}]).item_ids) == ["s1"]
    assert list(Dataset.of([{"text": "fig", "price": 1}, {"text": "pear"}]).item_ids) == ["0", "1"]
    named = Dataset.of([{"nr": 5, "words": "fig", "text": "no"}], id="nr", text="words")
    assert named.items[0].text == "fig" and list(named.item_ids) == ["5"]
    with pytest.raises(DataError, match="must have an id"):
        Dataset.of([{"words": "fig"}], id="nr", text="words")


SERIES = {
    "pandas": lambda values: pd.Series(values),
    "polars": lambda values: pl.Series(values),
    "arrow": lambda values: pa.array(values),
    "chunked": lambda values: pa.chunked_array([values]),
    "numpy": lambda values: pd.Series(values).to_numpy(dtype=str),
}


@pytest.mark.parametrize("kind", SERIES)
def test_one_column_is_a_list_of_texts(kind: str) -> None:
    texts = SERIES[kind](["a fig", "a pear"])
    assert list(Dataset.of(texts).item_ids) == ["0", "1"]
    assert bm25(texts)(SERIES[kind](["pear", "fig"])).ids == [["1"], ["0"]]
    assert [query.text for query in Dataset.of(["x"], queries=texts).queries] == ["a fig", "a pear"]


def test_a_series_with_ids_names_its_texts() -> None:
    texts = pd.Series({"f": "a fig", "p": "a pear"})
    assert bm25(texts)("pear").ids == [["p"]] and list(Dataset.of(texts).item_ids) == ["f", "p"]
    with pytest.raises(InputError, match="must name every item once"):
        bm25(pd.Series(["a", "b"], index=["x", "x"]))


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "stream"])
def test_whatever_takes_items_takes_frames(kind: str) -> None:
    frame, more = (
        FRAMES[kind]({"id": [id], "text": [text], "price": [price]})
        for id, text, price in (("f", "a fig tree", 3), ("p", "a pear tree", 4))
    )
    search = bm25(frame)
    assert search("fig").metadata(0) == [{"price": 3}]
    for grown in (
        tfidf(frame).with_items(more),
        vizsla.tokens(frame).with_items(more),
        (tfidf(frame).normalized() + vizsla.tokens(frame).normalized()).with_items(more),
    ):
        found = grown("tree", k=2)
        known = zip(found.ids[0], found.metadata(0), strict=True)
        assert dict(known) == {"f": {"price": 3}, "p": {"price": 4}}
    assert vizsla.bm25([{"id": "f", "text": "a fig", "price": 3}])("fig").metadata(0) == [{"price": 3}]
    length = FunctionScorer(lambda query, texts: [len(text) for text in texts], frame)
    assert length.score("x", ["f"]).to_dict() == {"0": {"f": 10.0}}
    triples = click_triples(FRAMES[kind]({"query": ["q"], "item": ["f"], "weight": [2.0]}), search.items)
    assert triples[0] == ["q"] and triples[1].tolist() == [0] and triples[2].tolist() == [2048]


class Foreign:
    """A frame of a library that nobody knows: it gives its column names."""

    columns = ("id", "text")

    def __iter__(self):
        return iter(self.columns)


ACCIDENTS = {
    "str": "fig",
    "bytes": b"fig",
    "bytearray": bytearray(b"fig"),
    "keys": {"f": "fig"}.keys(),
    "values": {"f": "fig"}.values(),
    "set": {"fig", "pear"},
    "file": io.StringIO("fig\npear\n"),
    "binary file": io.BytesIO(b"fig\n"),
    "foreign": Foreign(),
    "lazy": pl.LazyFrame({"id": ["f"], "text": ["fig"]}),
    "number": 7,
    "none": None,
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ACCIDENTS)
def test_what_holds_no_items_by_itself_is_refused(kind: str) -> None:
    given = ACCIDENTS[kind]
    takers = [Dataset.of, bm25, tfidf, vizsla.tokens, tfidf(["x"]).with_items]
    if given is not None:  # they may be left out
        takers += [lambda queries: Dataset.of(["x"], queries=queries), lambda clicks: Dataset.of(["x"], clicks=clicks)]
    if kind != "str":  # one query
        takers.append(bm25(["x"]))
    for taker in takers:
        with pytest.raises(InputError, match="must (be|hold)"):
            taker(given)


def test_a_frame_is_no_list_of_queries() -> None:
    for frame in (pd.DataFrame({"query": ["fig"]}), pl.DataFrame({"query": ["fig"]}), pa.table({"query": ["fig"]})):
        with pytest.raises(InputError, match="`queries` must be"):
            bm25(["a fig"])(frame)


def test_no_frame_library_is_imported_for_lists() -> None:
    code = (
        "import sys, vizsla; vizsla.bm25([{'id': 'f', 'text': 'fig'}])(['fig']);"
        "assert not {'pandas', 'polars', 'pyarrow'} & set(sys.modules), sys.modules.keys()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert issubclass(InputError, VizslaError)


@pytest.mark.parametrize("drop", [True, False])
def test_an_index_that_is_a_column_too_is_read_once(drop):
    frame = pd.DataFrame({"id": ["a", "b"], "text": ["a fig", "a pear"], "shop": ["x", "y"]})
    for index in ("id", ["id", "shop"], ["shop"]):
        data = vizsla.Dataset.of(frame.set_index(index, drop=drop))
        assert list(data.item_ids) == ["a", "b"] and data.text("b") == "a pear"
        assert details_of(data.item_ids).of(1) == {"shop": "y"}
