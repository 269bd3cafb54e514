from __future__ import annotations

import pytest

from tests.io.conftest import Put
from vizsla.core.catalog import Item, Query
from vizsla.core.validation import DatasetWarning
from vizsla.data.dataset import Dataset
from vizsla.errors import DataError
from vizsla.io.jsonl import write_items, write_queries

GOOD = '{"_id": "d1", "title": "Fig", "text": "A fruit."}\n{"id": 7, "text": "A tree.", "color": "green"}\n'


def test_items_are_read_with_titles_numbers_and_metadata(put: Put) -> None:
    dataset = Dataset.open(put("items.jsonl", GOOD))
    assert list(dataset.items) == [Item("d1", "A fruit.", "Fig"), Item("7", "A tree.", "", {"color": "green"})]
    assert list(dataset.items) == list(dataset.items)
    assert dataset.text("d1") == "Fig A fruit."
    assert dataset.items[1] == dataset.items[-1] == Item("7", "A tree.", "", {"color": "green"})
    assert dataset.warnings == ()


def test_a_gzipped_file_gives_the_same_records_at_random(put: Put) -> None:
    plain, packed = Dataset.open(put("a.jsonl", GOOD)), Dataset.open(put("b.jsonl.gz", GOOD))
    assert list(plain.items) == list(packed.items) == [packed.items[number] for number in range(2)]
    assert packed.items.get("7") == plain.items.get("7")


def test_nested_metadata_are_united_with_other_fields(put: Put) -> None:
    line = '{"_id": "a", "text": "x", "title": null, "metadata": {"url": "u", "n": 1}, "n": 2}\n'
    assert list(Dataset.open(put("a.jsonl", line)).items) == [Item("a", "x", "", {"url": "u", "n": 2})]


def test_unusual_fields_can_be_named(put: Put) -> None:
    path = put("a.jsonl", '{"sku": "a1", "name": "Fig", "descr": "sweet"}\n')
    items = Dataset.open(path, id="sku", title="name", text="descr").items
    assert list(items) == [Item("a1", "sweet", "Fig")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "this is not JSON"),
        ('{"_id": "x", "text": NaN}', "this is not JSON .*NaN"),
        ('["x", "text"]', "expected a JSON object. Got list"),
        ("[" * 100_000, "this is not JSON"),
        ('{"text": "no id"}', "must have an id .*Got 'text'"),
        ('{"_id": "x", "body_text": "?"}', "must have a text"),
        ('{"_id": "", "text": "?"}', "'_id' must be a text, not empty"),
        ('{"_id": null, "text": "?"}', "'_id' must be a text"),
        ('{"_id": true, "text": "?"}', "'_id' must be a text"),
        ('{"_id": 1.5, "text": "?"}', "'_id' must be a text"),
        ('{"_id": "x", "text": null}', "'text' must be a text. Got None"),
        ('{"_id": "x", "text": 3}', "'text' must be a text. Got 3"),
        ('{"_id": "x", "text": "t", "title": []}', "'title' must be a text"),
        ('{"_id": "\\ud800", "text": "t"}', "half a surrogate"),
        ('{"_id": "x", "text": "\\udc00"}', "half a surrogate"),
    ],
)
def test_a_bad_line_is_named_or_skipped_and_counted(put: Put, line: str, message: str) -> None:
    path = put("items.jsonl", '{"_id": "first", "text": "1"}\n' + line + '\n{"_id": "last", "text": "3"}\n')
    with pytest.raises(DataError, match=rf"items\.jsonl, line 2: .*{message}"):
        Dataset.open(path)
    with pytest.warns(DatasetWarning, match=rf"^1 unreadable lines skipped in .*line 2: .*{message}"):
        dataset = Dataset.open(path, on_error="warn")
    assert [item.id for item in dataset.items] == list(dataset.item_ids) == ["first", "last"]
    assert dataset.text("last") == "3"


@pytest.mark.parametrize("name", ["items.jsonl", "items.jsonl.gz"])
def test_a_repeated_id_is_named_or_the_first_is_kept(put: Put, name: str) -> None:
    lines = ['{"_id": "a", "text": "1"}', "", '{"_id": "b", "text": "2"}', '{"_id": "a", "text": "3"}']
    path = put(name, "\n".join(lines))
    with pytest.raises(DataError, match=r"line 4: the id 'a' was given before, on line 1"):
        Dataset.open(path)
    with pytest.warns(DatasetWarning):
        dataset = Dataset.open(path, on_error="warn")
    assert [message.split(" in ")[0] for message in dataset.warnings][-1] == "1 items with a repeated id"
    assert [(item.id, item.text) for item in dataset.items] == [("a", "1"), ("b", "2")]
    assert [dataset.text(id) for id in dataset.item_ids] == ["1", "2"]


def test_empty_texts_and_blank_lines_are_counted(put: Put) -> None:
    lines = ['{"_id": "a", "text": ""}', "", '{"_id": "b", "text": "", "title": "T"}', '{"_id": "c", "text": " "}']
    path = put("a.jsonl", "\n".join(lines))
    with pytest.warns(DatasetWarning):
        dataset = Dataset.open(path)
    assert len(dataset.items) == 3
    found = [message.split(" in ")[0] for message in dataset.warnings]
    assert found == ["1 blank lines skipped", "2 items with an empty text"]


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
def test_an_empty_file_raises(put: Put, content: str) -> None:
    with pytest.raises(DataError, match="there are no items"):
        Dataset.open(put("a.jsonl", content))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1.0, float("nan")], {"deep": float("-inf")}])
def test_numbers_that_json_does_not_have_are_refused_and_nothing_is_written(tmp_path, value) -> None:
    """Python writes NaN, which no other reader of JSON takes."""
    path = tmp_path / "out.jsonl"
    with pytest.raises(DataError, match="the metadata of 'a' cannot be JSON"):
        write_items(Dataset.of([Item("b", "pear"), Item("a", "fig", metadata={"price": value})]), path)
    with pytest.raises(DataError, match="the metadata of 'a' cannot be JSON"):
        write_queries(Dataset.of({"x": "fig"}, queries=[Query("a", "fig", {"price": value})]), path)
    assert list(tmp_path.iterdir()) == []


def test_a_text_of_several_that_is_null_is_passed_over(put: Put) -> None:
    rows = [
        '{"id": "a", "name": "fig", "about": null, "more": "tree"}',
        '{"id": "b", "name": null, "about": "x", "more": ""}',
    ]
    found = Dataset.open(put("items.jsonl", "\n".join(rows)), text="about,name,more").items
    assert [item.text for item in found] == ["fig tree", "x"]
