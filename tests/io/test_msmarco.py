from __future__ import annotations

import pytest

from tests.io.conftest import Put
from vizsla.core.catalog import Item
from vizsla.core.validation import DatasetWarning
from vizsla.data.dataset import Dataset
from vizsla.errors import DataError

COLLECTION = "0\tThe first passage.\n1\tThe second.\n2\tÄ third, with spaces.\n"


@pytest.mark.parametrize("gz", ["", ".gz"])
def test_the_published_layout_is_read(put: Put, gz: str) -> None:
    put(f"m/collection.tsv{gz}", COLLECTION)
    put(f"m/queries.train.tsv{gz}", "11\tone\n12\ttwo\n")
    put(f"m/queries.dev.tsv{gz}", "21\tthree\n22\tfour\n")
    put(f"m/queries.dev.small.tsv{gz}", "21\tthree\n")
    put(f"m/qrels.train.tsv{gz}", "11\t0\t1\t1\n12\t0\t0\t1\n")
    folder = put(f"m/qrels.dev.small.tsv{gz}", "21\t0\t2\t1\n").parent
    dataset = Dataset.open(folder)
    expected = [Item("0", "The first passage."), Item("1", "The second."), Item("2", "Ä third, with spaces.")]
    assert list(dataset.items) == expected
    assert dataset.query_texts() == (["21", "22", "11", "12"], ["three", "four", "one", "two"])
    assert [dataset.queries[row].text for row in (3, 0)] == ["two", "three"]
    assert dataset.splits == ("dev.small", "train")
    assert dataset.qrels_dict("train") == {"11": {"1": 1}, "12": {"0": 1}}
    assert dataset.qrels_dict("dev.small") == {"21": {"2": 1}}


def test_documents_have_a_url_and_a_title(put: Put) -> None:
    items = Dataset.open(put("docs.tsv", "D1\thttp://a\tA title\tThe body\n")).items
    assert list(items) == [Item("D1", "The body", "A title", {"url": "http://a"})]


def test_small_queries_are_read_where_they_are_alone(put: Put) -> None:
    put("m/collection.tsv", COLLECTION)
    put("m/queries.dev.small.tsv", "21\tthree\n")
    assert Dataset.open(put("m/qrels.tsv", "21 0 2 1\n").parent).qrels_dict("test") == {"21": {"2": 1}}


def test_a_query_of_two_files_raises(put: Put) -> None:
    put("m/collection.tsv", COLLECTION)
    put("m/queries.dev.tsv", "21\tthree\n")
    folder = put("m/queries.train.tsv", "11\tone\n21\tother\n").parent
    with pytest.raises(DataError, match=r"queries\.train\.tsv, line 2: the id '21' was given before"):
        Dataset.open(folder)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1", r"expected 2 columns \(id, text\) or 4"),
        ("1\ta\tb", r"expected 2 columns \(id, text\) or 4 .* Got 3"),
        ("\ttext", "the id is empty"),
    ],
)
def test_a_ragged_line_is_named_or_skipped_and_counted(put: Put, line: str, message: str) -> None:
    path = put("collection.tsv", f"0\tfine\n{line}\n")
    with pytest.raises(DataError, match=rf"collection\.tsv, line 2: {message}"):
        Dataset.open(path)
    with pytest.warns(DatasetWarning, match="^1 unreadable lines"):
        assert len(Dataset.open(path, on_error="warn").items) == 1


def test_ragged_queries_raise(put: Put) -> None:
    with pytest.raises(DataError, match=r"q\.tsv, line 1: expected 2 columns with a tab \(id, text\). Got 3"):
        Dataset.open(put("c.tsv", COLLECTION), queries=put("q.tsv", "1\ta\tb\n"))
