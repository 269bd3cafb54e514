"""What the command line says of files that are not as they should be, and which files it takes for queries and ids."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace

import pytest

from vizsla.cli import main

CSV = "sku,title,price\nf,a fig,3\np,a pear,4\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text(CSV)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.txt", "fig\npear\n"),
        ("q.tsv", "q1\tfig\nq2\tpear\n"),
        ("q.tsv", "fig\npear\n"),
        ("q.csv", "qid,query\n1,fig\n2,pear\n"),
        ("q.csv", "fig\npear\n"),
        ("q.jsonl", '{"_id": "1", "text": "fig"}\n{"_id": "2", "text": "pear"}\n'),
        ("q.topics", "<top>\n<num> 1\n<title> fig\n</top>\n<top>\n<num> 2\n<title> pear\n</top>\n"),
    ],
)
def test_queries_of_a_file_are_texts_not_lines_with_ids(table, tmp_path, capsys, name, text):
    path = tmp_path / name
    path.write_text(text)
    assert main(["search", str(table), "--queries", str(path), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["query"], row["hits"][0]["id"]) for row in rows] == [("fig", "f"), ("pear", "p")]


def test_a_list_of_ids_may_be_out_of_step_and_that_is_counted(table, tmp_path, capsys):
    (tmp_path / "stock").write_text("p\ngone\n")
    assert main(["search", str(table), "a pear fig", "--json", "--where", str(tmp_path / "stock")]) == 0
    said = capsys.readouterr()
    assert [hit["id"] for hit in json.loads(said.out)["hits"]] == ["p"]
    assert "1 of 2 ids of" in said.err and "are of no item, for example 'gone'" in said.err


@pytest.mark.parametrize("what", ["price", "", "{folder}"])
def test_a_where_that_is_neither_a_file_nor_a_condition_says_what_it_may_be(table, tmp_path, capsys, what):
    assert main(["search", str(table), "fig", "--where", what.format(folder=tmp_path)]) == 2
    assert "`--where` must be a file of ids, or a condition such as price<20" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "advice"),
    [
        (CSV.encode("utf-16"), "Pass --encoding utf-16."),
        (CSV.encode("utf-16-le"), "such as --encoding utf-16-le."),
        (CSV.replace("fig", "é").encode("latin-1"), "such as --encoding latin-1."),
        (b"sku,title\nf\n", "leave out what cannot be read: --on-error skip."),
    ],
)
def test_advice_names_options(table, capsys, data, advice):
    table.write_bytes(data)
    assert main(["search", str(table), "fig"]) == 2
    assert advice in capsys.readouterr().err


def test_standard_input_is_called_so(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(CSV.encode()), isatty=lambda: False))
    assert main(["search", "-", "fig"]) == 0
    assert "vizsla: standard input: id sku;" in capsys.readouterr().err


def test_what_is_read_is_never_where_rejected_lines_go(table, tmp_path, capsys):
    log = tmp_path / "log.csv"
    log.write_text("query,item\nfig,f\n")
    options = ["--clicks", str(log), "--on-error", "skip", "--rejected", str(log)]
    assert main(["index", "bm25", str(table), *options, "-o", str(tmp_path / "out")]) == 2
    assert "`rejected` must be another file" in capsys.readouterr().err and log.read_text() == "query,item\nfig,f\n"


def test_an_output_that_is_there_is_refused_before_anything_is_read(tmp_path, capsys):
    (tmp_path / "out").mkdir()
    for verb in (["index", "bm25"], ["index", "tfidf"], ["index", "statistics"], ["split"]):
        assert main([*verb, "nowhere.csv", "-o", str(tmp_path / "out")]) == 2
        assert "`--output` must be new." in capsys.readouterr().err


def test_numbers_and_short_words_are_shown_whole_and_long_texts_share_the_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    path = tmp_path / "items.csv"
    title, text = "A shirt of soft blue cotton for long days", "the cotton is washed twice and then dried in the wind"
    path.write_text(f"sku,title,description,price,brand\nA-1,{title},{text},1299.95,Bolt & Co\n")
    assert main(["search", str(path), "wind", "--show", "title,price,brand,text"]) == 0
    lines = capsys.readouterr().out.splitlines()
    row = next(line for line in lines if "A-1" in line)
    assert "1299.95" in row and "Bolt & Co" in row and "A shirt of" in row and "wind" in row
    assert all(len(line) <= 80 for line in lines)


def test_a_long_query_is_not_folded_to_a_narrow_table(table, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    query = "fig and other fruit that grows in warm gardens by the sea"
    assert main(["search", str(table), query, "--show", "price"]) == 0
    assert capsys.readouterr().out.startswith(f"query {query}\n")


def test_adapting_puts_aside_what_cannot_be_read_of_its_log(table, tmp_path, capsys):
    log, aside = tmp_path / "log.csv", tmp_path / "aside.csv"
    log.write_text("query,item\n" + "".join(f"sweet {n},{'fp'[n % 2]}\n" for n in range(12)) + "broken\n")
    assert main(["index", "bm25", str(table), "-o", str(tmp_path / "idx")]) == 0
    adapt = ["adapt", "pefa-xs", str(tmp_path / "idx"), "--clicks", str(log), "--weight", "0.5", "--on-error", "skip"]
    assert main([*adapt, "--rejected", str(aside), "-o", str(tmp_path / "new")]) == 0
    assert aside.read_text() == "broken\n" and "1 unreadable lines skipped" in capsys.readouterr().err
