from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.io.conftest import Put
from vizsla.core.catalog import Query
from vizsla.core.validation import DatasetWarning
from vizsla.data.dataset import Dataset
from vizsla.errors import DataError

CORPUS = "".join(json.dumps({"_id": id, "title": id.upper(), "text": f"text of {id}"}) + "\n" for id in ("a", "b", "c"))
QUERIES = (
    '{"_id": "q1", "text": "first"}\n{"_id": "q2", "text": "second", "lang": "en"}\n{"_id": "q3", "text": "third"}\n'
)
HEADER = "query-id\tcorpus-id\tscore\n"


def folder(put: Put, gz: str = "", **qrels: str) -> Path:
    put(f"set/corpus.jsonl{gz}", CORPUS)
    put(f"set/queries.jsonl{gz}", QUERIES)
    for split, rows in qrels.items():
        put(f"set/qrels/{split}.tsv{gz}", rows)
    return put("set/README.md", "about").parent


@pytest.mark.parametrize("gz", ["", ".gz"])
def test_everything_is_read(put: Put, gz: str) -> None:
    train, test = HEADER + "q1\ta\t1\nq1\tb\t0\nq2\tc\t2\n", "q3\tc\t1\nq3\ta\t-1\n"
    dataset = Dataset.open(folder(put, gz, train=train, test=test))
    assert list(dataset.item_ids) == ["a", "b", "c"]
    assert list(dataset.queries)[1] == Query("q2", "second", {"lang": "en"}) == dataset.queries[1]
    assert dataset.splits == ("test", "train")
    assert dataset.qrels_dict("train") == {"q1": {"a": 1, "b": 0}, "q2": {"c": 2}}
    assert dataset.qrels_dict("test") == {"q3": {"a": -1, "c": 1}}
    assert dataset.query_texts("train") == (["q1", "q2"], ["first", "second"])
    assert dataset.query_texts() == (["q1", "q2", "q3"], ["first", "second", "third"])
    # A judged 0 is no click.
    assert dataset.clicks.toarray().tolist() == [[1, 0, 0], [0, 0, 2], [0, 0, 0]]
    assert dataset.clicks.nnz == 2
    assert str(dataset.clicks.dtype) == "float32"
    assert dataset.qrels("train").nnz == 3
    assert dataset.warnings == ()


def test_dangling_judgments_are_counted_or_raise(put: Put) -> None:
    path = folder(put, test=HEADER + "q1\ta\t1\nq9\ta\t1\nq1\tz\t1\nq8\tz\t1\n")
    with pytest.warns(DatasetWarning) as caught:
        dataset = Dataset.open(path)
    name = str(path / "qrels" / "test.tsv")
    expected = [
        f"2 entries of {name} left out: unknown query, for example 'q9'",
        f"1 entries of {name} left out: unknown item, for example 'z'",
    ]
    assert list(dataset.warnings) == [str(warning.message) for warning in caught] == expected
    assert dataset.qrels_dict("test") == {"q1": {"a": 1}}
    with pytest.raises(DataError, match=r"test\.tsv, line 3: the query 'q9' is unknown"):
        Dataset.open(path, dangling="raise")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("q2\tb", "expected 3 columns with tabs, as above. Got 2"),
        ("q2\tb\t1\t1", "expected 3 columns with tabs, as above. Got 4"),
        ("q2\tb\tx", "the grade must be a whole number. Got 'x'"),
        ("q2\tb\t0.5", "the grade must be a whole number. Got '0.5'"),
        ("q2\tb\tnan", "the grade must be a whole number"),
        ("q2\tb\tinf", "the grade must be a whole number"),
        ("q2\tb\t1e300", "the grade must be a whole number"),
        ("\tb\t1", "the query or the item is empty"),
        ("q2\t\t1", "the query or the item is empty"),
    ],
)
def test_a_bad_judgment_is_named_or_skipped_and_counted(put: Put, row: str, message: str) -> None:
    path = folder(put, test=HEADER + f"q1\ta\t1\n{row}\nq3\tc\t1\n")
    with pytest.raises(DataError, match=rf"test\.tsv, line 3: {message}"):
        Dataset.open(path)
    with pytest.warns(DatasetWarning, match="^1 unreadable lines skipped"):
        assert Dataset.open(path, on_error="warn").qrels("test").nnz == 2


def test_a_pair_judged_twice(put: Put) -> None:
    path = folder(put, test=HEADER + "q1\ta\t1\nq2\tb\t1\nq1\ta\t1.0\n")
    with pytest.warns(DatasetWarning, match="^1 judgments repeated in .*: each counted once"):
        assert Dataset.open(path).qrels_dict("test") == {"q1": {"a": 1}, "q2": {"b": 1}}
    put("set/qrels/test.tsv", HEADER + "q1\ta\t1\nq2\tb\t1\nq1\ta\t2\n")
    with pytest.raises(DataError, match=r"test\.tsv, line 4: query 'q1' and item 'a' have grade 2 here and 1 on l"):
        Dataset.open(path)


def test_a_first_line_that_is_no_header_is_never_taken_for_one(put: Put) -> None:
    with pytest.raises(DataError, match=r"line 1: the grade must be a whole number. Got 'one'"):
        Dataset.open(folder(put, test="q1\ta\tone\nq1\tb\t1\n"))


@pytest.mark.parametrize("rows", ["", "\n", HEADER])
def test_a_split_without_judgments_raises(put: Put, rows: str) -> None:
    with pytest.raises(DataError, match=r"test\.tsv: there are no entries"):
        Dataset.open(folder(put, test=rows))


def test_plain_and_gzipped_at_once_raise(put: Put) -> None:
    path = folder(put, test="q1\ta\t1\n")
    put("set/qrels/test.tsv.gz", "q1\ta\t1\n")
    with pytest.raises(DataError, match="a split is there twice"):
        Dataset.open(path)
    put("set/corpus.jsonl.gz", CORPUS)
    with pytest.raises(DataError, match=r"both corpus\.jsonl and corpus\.jsonl\.gz"):
        Dataset.open(path)


def test_judgments_without_queries_raise(put: Put) -> None:
    path = folder(put, test="q1\ta\t1\n")
    (path / "queries.jsonl").unlink()
    with pytest.raises(DataError, match="there are judgments but no queries"):
        Dataset.open(path)


def test_a_folder_without_queries_and_judgments_is_a_catalog(put: Put) -> None:
    put("set/corpus.jsonl", CORPUS)
    dataset = Dataset.open(put("set/README", "").parent)
    assert (len(dataset.items), len(dataset.queries), dataset.splits) == (3, 0, ())
    assert dataset.clicks.shape == (0, 3)
