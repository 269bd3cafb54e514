from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from vizsla.core.catalog import Item, Query
from vizsla.core.strings import Strings
from vizsla.core.validation import DatasetWarning
from vizsla.data.dataset import Dataset
from vizsla.errors import DataError, InputError


@pytest.mark.parametrize(
    "items",
    [
        {"a": "x", "b": "y"},
        [("a", "x"), ("b", "y")],
        [["a", "x"], ["b", "y"]],
        [{"_id": "a", "text": "x"}, {"id": "b", "text": "y", "title": ""}],
        [Item("a", "x"), Item("b", "y")],
        {"a": {"text": "x"}, "b": {"text": "y"}},
        (pair for pair in [("a", "x"), ("b", "y")]),
    ],
)
def test_items_in_many_forms(items: Any) -> None:
    dataset = Dataset.of(items)
    assert list(dataset.items) == list(dataset.items) == [Item("a", "x"), Item("b", "y")]
    assert isinstance(dataset.item_ids, Strings)
    assert (len(dataset.items), dataset.items[1].id, dataset.text("b")) == (2, "b", "y")


def test_texts_alone_are_numbered() -> None:
    dataset = Dataset.of(["x", "y"], queries=["u", "v"])
    assert [item.id for item in dataset.items] == list(dataset.item_ids) == ["0", "1"]
    assert list(dataset.queries) == [Query("0", "u"), Query("1", "v")]


@pytest.mark.parametrize(
    "clicks",
    [
        [("q1", "a", 2), ("q2", "b")],
        [("q1", "a"), ("q2", "b"), ("q1", "a")],
        {"q1": {"a": 2.0}, "q2": {"b": 1}},
        {"q1": ["a", "a"], "q2": "b"},
        [["q1", "a", np.float32(2)], ["q2", "b", np.int64(1)]],
    ],
)
def test_clicks_in_many_forms(clicks: Any) -> None:
    dataset = Dataset.of({"a": "x", "b": "y"}, queries={"q1": "u", "q2": "v"}, clicks=clicks)
    assert dataset.clicks.toarray().tolist() == [[2, 0], [0, 1]]
    assert dataset.clicks.dtype == np.float32


@pytest.mark.parametrize(
    ("qrels", "splits"),
    [
        ({"q1": {"a": 2}}, ("test",)),
        ([("q1", "a", 2)], ("test",)),
        ({"dev": {"q1": {"a": 2}}, "test": {"q1": {"b": 1}}}, ("dev", "test")),
        ({"dev": [("q1", "a", 2)]}, ("dev",)),
    ],
)
def test_judgments_in_many_forms(qrels: Any, splits: tuple[str, ...]) -> None:
    dataset = Dataset.of({"a": "x", "b": "y"}, queries={"q1": "u"}, qrels=qrels)
    assert dataset.splits == splits
    assert dataset.qrels_dict(splits[0]) == {"q1": {"a": 2}}
    assert dataset.qrels(splits[0]).dtype == np.int32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"items": "a text"}, "`items` must be a list or a mapping"),
        ({"items": 3}, "`items` must be a list or a mapping"),
        ({"items": [3]}, "`items` must hold texts"),
        ({"items": [("a", "b", "c")]}, "`items` must hold texts"),
        ({"items": []}, "there are no items"),
        ({"items": ["x"], "queries": []}, "there are no queries"),
        ({"items": [("a", "x"), ("a", "y")]}, "items, line 2: the id 'a' was given before, on line 1"),
        ({"items": [("", "x")]}, "items, line 1: '_id' must be a text, not empty"),
        ({"items": [("a", None)]}, "items, line 1: 'text' must be a text"),
        ({"items": ["\ud800"]}, "half a surrogate"),
        ({"items": ["x"], "clicks": [("q", "0", -1)]}, "clicks, line 1: the weight must be a number"),
        ({"items": ["x"], "clicks": ["q0"]}, "`clicks` must hold"),
        ({"items": ["x"], "queries": ["y"], "qrels": [("0", "0", 0.5)]}, "line 1: the grade must be a whole"),
        ({"items": ["x"], "qrels": [("0", "0", 1)]}, "there are judgments but no queries"),
    ],
)
def test_wrong_input_raises(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((InputError, DataError), match=message):
        Dataset.of(**arguments)


def test_dangling_entries_are_counted_or_raise() -> None:
    arguments: Any = {"items": ["x"], "queries": ["y"], "clicks": [("0", "0"), ("0", "9"), ("8", "0")]}
    with pytest.warns(DatasetWarning):
        dataset = Dataset.of(**arguments)
    assert dataset.warnings == (
        "1 entries of clicks left out: unknown query, for example '8'",
        "1 entries of clicks left out: unknown item, for example '9'",
    )
    with pytest.raises(DataError, match="clicks, line 2: the item '9' is unknown"):
        Dataset.of(**arguments, dangling="raise")


def test_unknown_names_raise() -> None:
    dataset = Dataset.of(["x"], queries=["y"], qrels={"dev": {"0": {"0": 1}}})
    with pytest.raises(InputError, match=r"`split` must be one that has judgments \(dev\). Got 'test'"):
        dataset.qrels("test")
    with pytest.raises(InputError, match="`split` must be one that has judgments"):
        dataset.qrels("train")
    with pytest.raises(InputError, match=r"must be a known id. Got 'z'"):
        dataset.text("z")
    with pytest.raises(IndexError):
        dataset.items[1]


def test_matrices_must_fit() -> None:
    from scipy.sparse import csr_array

    dataset = Dataset.of(["x"], queries=["y"])
    with pytest.raises(InputError, match=r"`clicks` must be 1 × 1. Got"):
        Dataset(dataset.items, dataset.queries, clicks=csr_array(np.ones((2, 2), np.float32)))


def test_records_can_go_to_another_process() -> None:
    records = [Item("a", "x"), Item("b", "y", "T", {"n": 1}), Query("q", "z")]
    assert pickle.loads(pickle.dumps(records)) == records
    assert Item("a", "x") == Item("a", "x", "", {})


def test_default_text_joins_what_is_there() -> None:
    assert Item("a", "body", "Head").default_text() == "Head body"
    assert Item("a", "body").default_text() == "body"
    assert Item("a", "", "Head").default_text() == "Head"
    assert Item("a", "").default_text() == ""
