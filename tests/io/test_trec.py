from __future__ import annotations

from pathlib import Path

import pytest

from tests.io.conftest import Put
from vizsla.core.candidates import Candidates
from vizsla.core.catalog import Query
from vizsla.core.strings import Strings
from vizsla.core.validation import DatasetWarning
from vizsla.data.dataset import Dataset
from vizsla.errors import DataError, InputError
from vizsla.io.bad_lines import Reading
from vizsla.io.trec import read_answers, read_run, read_topics, write_qrels, write_run

CLASSIC = """<top>
<num> Number: 301
<title> International Organized
Crime

<desc> Description:
Identify organizations.
</top>

<top>
<num>302</num><title>Topic: Poliomyelitis &amp; Post-Polio</title>
</top>
"""
XML = """<?xml version="1.0"?>
<topics task="covid">
  <topic number="1"><query>coronavirus origin</query><question>what is it</question></topic>
  <topic number="2"><query>response to <![CDATA[x]]></query></topic>
  <topic number="3">  plain words </topic>
</topics>
"""


def test_classic_topics(put: Put) -> None:
    found = list(read_topics(put("topics.txt", CLASSIC)))
    assert found == [Query("301", "International Organized Crime"), Query("302", "Poliomyelitis & Post-Polio")]


def test_a_field_can_be_named(put: Put) -> None:
    path = put("topics.txt", CLASSIC.split("\n\n<top>")[0])
    assert list(read_topics(path, field="desc")) == [Query("301", "Description: Identify organizations.")]
    with pytest.raises(DataError, match=r"topics\.txt, line 1: the topic has no <narr>"):
        read_topics(path, field="narr")


def test_xml_topics(put: Put) -> None:
    found = list(read_topics(put("topics.xml", XML.replace("<![CDATA[x]]>", ""))))
    assert found == [Query("1", "coronavirus origin"), Query("2", "response to"), Query("3", "plain words")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<top><num>1<title>a", "1 topics begin but 0 end"),
        ("", "0 topics begin but 0 end"),
        ("<top><title>a</top>", "line 1: the topic has no <num>"),
        ("\n<top><num>1<desc>a</top>", "line 2: the topic has no <title> and no <query>"),
        ("<top><num>1<title>a</top><top><num>2<title>b<top>", "3 topics begin but 1 end"),
    ],
)
def test_wrong_topics_raise(put: Put, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_topics(put("topics.txt", content))


def test_topics_and_qrels_with_a_file_of_items(put: Put) -> None:
    items = put("items.tsv", "d1\tcrime\nd2\tpolio\n")
    qrels = put("qrels.txt", "301 0 d1 1\n301 Q0 d2 -2\n302\t0\td2\t0\n")
    dataset = Dataset.open(items, queries=put("topics.txt", CLASSIC), qrels=qrels)
    assert dataset.qrels_dict("test") == {"301": {"d1": 1, "d2": -2}, "302": {"d2": 0}}
    dataset = Dataset.open(items, queries=put("topics.txt", CLASSIC), qrels={"a": qrels, "b": qrels})
    assert dataset.splits == ("a", "b")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("301 0 d1\n", "line 1: expected 3 columns .* or TREC's 4 columns"),
        ("301 0 d1 1\n301 0 d1\n", "line 2: expected 4 columns, as above. Got 3"),
        ("301 0 d1 yes\n", "line 1: the grade must be a whole number"),
    ],
)
def test_wrong_qrels_raise(put: Put, rows: str, message: str) -> None:
    items, topics = put("items.tsv", "d1\tcrime\n"), put("topics.txt", CLASSIC)
    with pytest.raises(DataError, match=message):
        Dataset.open(items, queries=topics, qrels=put("qrels.txt", rows))


def test_a_run_is_ordered_by_score_and_not_by_rank(put: Put) -> None:
    run = read_run(put("run.txt.gz", "q1 Q0 b 1 0.5 tag\nq1 Q0 a 2 1.5 tag\n\nq2\tQ0\tb\t1\t-3e-2\ttag\n"))
    assert run.to_dict() == {"q1": {"a": 1.5, "b": 0.5}, "q2": {"b": pytest.approx(-0.03)}}
    assert list(run.query_ids) == ["q1", "q2"]


def test_with_tabs_a_query_may_be_a_text(put: Put) -> None:
    run = read_run(put("texts.run", "fig  tree\tQ0\ta\t1\t2\tmine\nfig  tree\tQ0\tb\t2\t1\tmine\nq Q0 b 1 1 mine\n"))
    assert run.to_dict() == {"fig  tree": {"a": 2.0, "b": 1.0}, "q": {"b": 1.0}}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("q1 Q0 a 1 1", "expected 6 columns .* Got 5"),
        ("q1 Q0 a 1 high tag", "the score must be a number. Got 'high'"),
        ("q1 Q0 a 1 nan tag", "the score must be a number"),
        ("q1 Q0 b 1 1 tag", "query 'q1' has item 'b' before"),
    ],
)
def test_a_wrong_run_raises(put: Put, row: str, message: str) -> None:
    with pytest.raises(DataError, match=rf"run\.txt, line 2: {message}"):
        read_run(put("run.txt", f"q1 Q0 b 1 0.5 tag\n{row}\n"))


def test_lines_of_a_run_can_be_left_out_counted_and_kept_aside(put: Put, tmp_path: Path) -> None:
    lines = ["q1 Q0 b 1 0.5 tag", "garbage", "q1 Q0 b 2 9 tag", "q1 Q0 \u00fc 3 x tag", "q2 Q0 a 1 1 tag"]
    path = put("run.txt", "\n".join(lines).encode() + b"\nq3 Q0 \xff 1 1 tag\n")
    with (tmp_path / "bad").open("wb") as aside, pytest.warns(DatasetWarning, match="4 unreadable lines skipped in "):
        answers = read_answers(path, how=Reading(on_error="skip", rejected=aside))
    assert answers == {"q1": {"b": 0.5}, "q2": {"a": 1}}
    assert (tmp_path / "bad").read_bytes() == "\n".join(lines[1:4]).encode() + b"\nq3 Q0 \xff 1 1 tag\n"


def test_a_run_with_an_unknown_item_or_without_entries_raises(put: Put) -> None:
    with pytest.raises(DataError, match="line 1: the item 'b' is unknown"):
        read_run(put("run.txt", "q1 Q0 b 1 0.5 tag\n"), catalog=Strings.of(["a"]))
    with pytest.raises(DataError, match="there are no entries"):
        read_run(put("run.txt", "\n"))


def test_a_run_comes_back(tmp_path: Path) -> None:
    catalog = Strings.of(["a", "b", "ü"])
    run = Candidates.from_dict({"q1": {"ü": 0.1, "a": 1e-9}, "q2": {"b": -7.25}}, catalog=catalog)
    write_run(run, tmp_path / "run.txt")
    assert read_run(tmp_path / "run.txt", catalog=catalog) == run
    assert run.to_trec() == (tmp_path / "run.txt").read_text()


def test_ids_with_spaces_do_not_go_into_trec_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no white space in a TREC file. Got 'two words'"):
        write_run(Candidates.from_dict({"q": {"two words": 1.0}}), tmp_path / "run.txt")
    dataset = Dataset.of({"d 1": "x"}, queries={"q": "x"}, qrels={"q": {"d 1": 1}})
    with pytest.raises(DataError, match="Got 'd 1'"):
        write_qrels(dataset, tmp_path / "qrels.txt")
    assert list(tmp_path.iterdir()) == []


def test_qrels_come_back(put: Put, tmp_path: Path) -> None:
    judged = {"q1": {"a": 2, "b": -1}, "q2": {"b": 0}}
    dataset = Dataset.of({"a": "x", "b": "y"}, queries={"q1": "1", "q2": "2"}, qrels=judged)
    write_qrels(dataset, tmp_path / "out.qrels")
    items, queries = put("i.tsv", "a\tx\nb\ty\n"), put("q.tsv", "q1\t1\nq2\t2\n")
    assert Dataset.open(items, queries=queries, qrels=tmp_path / "out.qrels").qrels_dict("test") == judged
    with pytest.raises(InputError, match="`path` must be new"):
        write_qrels(dataset, tmp_path / "out.qrels")


@pytest.mark.parametrize("grades", [(1, 3), (3, 1), (0, 1), (1, 0)])
def test_a_judgment_with_two_grades_is_refused_whichever_comes_first(put, grades):
    put("items.tsv", "a\tfig\nb\tpear\n")
    put("queries.tsv", "q1\tfig\nq2\tpear\n")
    judged = put(
        "test.qrels", "".join(f"{query} 0 a {grade}\n" for query in ("q1", "q2") for grade in (grades[0],) * 2)
    )
    files = {"queries": judged.parent / "queries.tsv", "qrels": {"test": judged}}
    with pytest.warns(DatasetWarning, match="2 judgments repeated"):
        assert Dataset.open(judged.parent / "items.tsv", **files).qrels_dict("test")["q2"] == {"a": grades[0]}
    judged.write_text(f"q1 0 a 1\nq2 0 a {grades[0]}\nq2 0 b 1\nq2 0 a {grades[1]}\n")
    with pytest.raises(DataError, match="'q2'"):
        Dataset.open(judged.parent / "items.tsv", **files)
