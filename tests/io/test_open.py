from __future__ import annotations

from pathlib import Path

import pytest

from tests.io.conftest import Put
from vizsla.data.dataset import Dataset
from vizsla.errors import DataError, InputError

JSONL = '{"_id": "a", "text": "x"}\n'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("items.jsonl", JSONL),
        ("items.ndjson.gz", JSONL),
        ("items.data", JSONL),
        ("items.tsv", "a\tx\n"),
        ("items", "a\tx\n"),
        ("items.txt.gz", "a\tx\n"),
    ],
)
def test_files_are_told_by_name_or_first_line(put: Put, name: str, content: str) -> None:
    assert [(item.id, item.text) for item in Dataset.open(put(name, content)).items] == [("a", "x")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.jsonl", '{"_id": "q", "text": "words"}\n'),
        ("q.json", '{"qid": "q", "query": "words"}\n'),
        ("q.tsv", "q\twords\n"),
        ("topics", "<top><num>q<title>words</top>"),
    ],
)
def test_queries_are_told_too(put: Put, name: str, content: str) -> None:
    dataset = Dataset.open(put("items.jsonl", JSONL), queries=put(name, content))
    assert dataset.query_texts() == (["q"], ["words"])


def test_given_files_take_the_place_of_the_folders_own(put: Put) -> None:
    put("set/corpus.jsonl", JSONL)
    put("set/queries.jsonl", '{"_id": "q1", "text": "first"}\n')
    folder = put("set/qrels/test.tsv", "q1\ta\t1\n").parent.parent
    other = put("q.tsv", "q2\tsecond\n")
    qrels = {"dev": put("dev.tsv", "q2\ta\t3\n")}
    dataset = Dataset.open(folder, queries=other, qrels=qrels, clicks=put("c.csv", "q2,a\n"))
    assert dataset.query_texts() == (["q2"], ["second"])
    assert dataset.splits == ("train", "dev")
    assert dataset.qrels_dict("dev") == {"q2": {"a": 3}}
    assert dataset.clicks.toarray().tolist() == [[1]]


def test_what_cannot_be_told_raises(put: Put, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be a file of items: CSV, JSONL, TSV or Parquet"):
        Dataset.open(put("prose.doc", "Once upon a time\n"))
    with pytest.raises(InputError, match="`queries` must be JSONL, CSV, TSV, Parquet or TREC topics"):
        Dataset.open(put("items.jsonl", JSONL), queries=put("prose.txt", "Once upon a time\n"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"must be a folder with corpus\.jsonl"):
        Dataset.open(tmp_path / "empty")
    with pytest.raises(InputError, match="that exists"):
        Dataset.open(tmp_path / "nothing")
    with pytest.raises(DataError, match="no such file"):
        Dataset.open(put("items.jsonl", JSONL), clicks=tmp_path / "nothing.tsv")


@pytest.mark.parametrize(("option", "known"), [("on_error", "raise, warn, skip"), ("dangling", "raise, warn")])
def test_options_are_checked(put: Put, option: str, known: str) -> None:
    with pytest.raises(InputError, match=rf"`{option}` must be one of {known}. Got 'ignore'"):
        Dataset.open(put("items.jsonl", JSONL), **{option: "ignore"})
