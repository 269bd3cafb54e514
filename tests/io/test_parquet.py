from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow.parquet import write_table

from vizsla.core.catalog import Item
from vizsla.core.validation import DatasetWarning
from vizsla.data.dataset import Dataset
from vizsla.errors import DataError


def table(path: Path, **columns: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(pyarrow.table(columns), path, row_group_size=2)
    return path


def test_a_file_of_items(tmp_path: Path) -> None:
    columns = {"id": [1, 2, 3, 4, 5], "text": list("abcde"), "title": ["A", None, "", "D", "E"], "n": [1] * 5}
    dataset = Dataset.open(table(tmp_path / "i.parquet", **columns))
    assert list(dataset.items)[:2] == [Item("1", "a", "A", {"n": 1}), Item("2", "b", "", {"n": 1})]
    assert [dataset.items[number] for number in range(5)] == list(dataset.items)
    assert dataset.text("5") == "E e"


def test_clicks_and_judgments(tmp_path: Path) -> None:
    items = table(tmp_path / "i.parquet", _id=["a", "b"], text=["x", "y"])
    queries = table(tmp_path / "q.parquet", query_id=[7, 8], query=["first", "second"])
    clicks = table(tmp_path / "c.parquet", item=["a", "a", "b"], query=[7, 7, 8], weight=[1, 2, 0.5])
    qrels = table(tmp_path / "r.parquet", **{"query-id": ["7"], "corpus-id": ["b"], "score": [3]})
    dataset = Dataset.open(items, queries=queries, clicks=clicks, qrels=qrels)
    assert dataset.clicks.toarray().tolist() == [[3, 0], [0, 0.5]]
    assert dataset.qrels_dict("test") == {"7": {"b": 3}}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"text": ["a"]}, "line 1: the record must have an id"),
        ({"id": ["a"]}, "line 1: the record must have a text"),
        ({"id": ["a", None], "text": ["a", "b"]}, "line 2: 'id' must be a text"),
        ({"id": ["a", "b"], "text": ["a", None]}, "line 2: 'text' must be a text"),
        ({"id": ["a", "b", "a"], "text": ["a", "b", "c"]}, "line 3: the id 'a' was given before, on line 1"),
        ({"id": [], "text": []}, "there are no items"),
    ],
)
def test_wrong_items_raise(tmp_path: Path, columns: dict[str, list[Any]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Dataset.open(table(tmp_path / "i.parquet", **columns))


def test_bad_rows_can_be_skipped_and_counted(tmp_path: Path) -> None:
    path = table(tmp_path / "i.parquet", id=["a", None, "c", "a"], text=["1", "2", "3", "4"])
    with pytest.warns(DatasetWarning):
        dataset = Dataset.open(path, on_error="warn")
    assert [message.split(" in ")[0] for message in dataset.warnings] == [
        "1 unreadable rows skipped",
        "1 items with a repeated id",
    ]
    assert [dataset.text(id) for id in dataset.item_ids] == [item.text for item in dataset.items] == ["1", "3"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"query": ["q"], "thing": ["a"]}, "a column must be called one of .*item"),
        ({"query": ["q"], "item": ["a"], "weight": [-1.0]}, "line 1: the weight must be a number"),
        ({"query": ["q"], "item": ["a"], "weight": [None]}, "line 1: the weight must be a number"),
        ({"query": ["q", None], "item": ["a", "a"]}, "line 2: the query or the item is empty"),
    ],
)
def test_wrong_clicks_raise(tmp_path: Path, columns: dict[str, list[Any]], message: str) -> None:
    items = table(tmp_path / "i.parquet", _id=["a"], text=["x"])
    with pytest.raises(DataError, match=message):
        Dataset.open(items, clicks=table(tmp_path / "c.parquet", **columns))


def test_a_file_that_is_not_parquet_raises(tmp_path: Path) -> None:
    (tmp_path / "i.parquet").write_bytes(b"PAR1 but not really")
    with pytest.raises(DataError, match=r"i\.parquet: this is no readable Parquet file"):
        Dataset.open(tmp_path / "i.parquet")


@pytest.mark.parametrize(
    "column",
    [
        pyarrow.array([2**62], type=pyarrow.timestamp("us")),
        pyarrow.array([0], type=pyarrow.timestamp("s", tz="Nowhere/City")),
    ],
    ids=lambda column: str(column.type),
)
def test_values_that_python_cannot_hold_are_refused(tmp_path: Path, column: pyarrow.Array) -> None:
    odd = table(tmp_path / "i.parquet", id=["a"], text=["x"], odd=column)
    with pytest.raises(DataError, match=r"i\.parquet: a value of this Parquet file cannot be read"):
        list(Dataset.open(odd).items)
    with pytest.raises(DataError, match="cannot be read"):
        _ = Dataset.open(odd).items[0]
    items = table(tmp_path / "sound.parquet", id=["a"], text=["x"])
    clicks = table(tmp_path / "c.parquet", query=["fig"], item=["a"], time=column)
    with pytest.raises(DataError, match="cannot be read"):
        Dataset.open(items, clicks=clicks)
