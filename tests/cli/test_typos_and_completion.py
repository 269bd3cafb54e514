"""`vizsla index bm25 --typos`, the hint of `vizsla search`, and `vizsla complete` over data and an engine."""

import json

import pytest

from vizsla import load
from vizsla.cli import main

ROWS = "id,title,text\nf,Firefox,the browser\na,Fire alarm,it is loud\nt,Fig tree,it is green\n"


@pytest.fixture
def items(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text(ROWS, encoding="utf-8")
    return str(path)


def test_typos_are_forgiven_by_an_index_that_was_built_for_it(items, tmp_path, capsys):
    index = str(tmp_path / "index")
    assert main(["index", "bm25", items, "--typos", "-o", index]) == 0
    assert load(index).kind == "typo-tolerant"
    capsys.readouterr()
    assert main(["search", index, "firefx"]) == 0
    shown = capsys.readouterr().out
    assert "Did you mean 'firefox'?" in shown
    assert main(["search", index, "firefx", "--offset", "1"]) == 0
    assert "Did you mean 'firefox'?" in capsys.readouterr().out
    assert main(["search", index, "firefox"]) == 0
    assert "Did you mean" not in capsys.readouterr().out
    assert main(["search", index, "brwoser", "--json"]) == 0
    assert [hit["id"] for hit in json.loads(capsys.readouterr().out)["hits"]] == ["f"]


def test_complete_reads_data_a_completer_and_an_engine(items, tmp_path, capsys):
    completer, engine = str(tmp_path / "completer"), str(tmp_path / "engine")
    assert main(["index", "completion", items, "-o", completer]) == 0
    assert "3 entries" in capsys.readouterr().out
    assert main(["engine", "create", engine]) == 0
    assert main(["engine", "add", engine, items]) == 0
    capsys.readouterr()
    for source in (items, completer, engine):
        assert main(["complete", source, "fire"]) == 0
        assert capsys.readouterr().out.splitlines() == ["Fire alarm", "Firefox"], source
        assert main(["complete", source, "fierf", "-k", "1", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == ["Firefox"]
        assert main(["complete", source, "fierf", "--exact"]) == 0
        assert capsys.readouterr().out == ""


def test_complete_names_an_artifact_that_is_none(items, tmp_path, capsys):
    index = str(tmp_path / "index")
    assert main(["index", "bm25", items, "-o", index]) == 0
    assert main(["complete", index, "fire"]) == 2
    assert "`source` must be a completer, an engine or data. Got kind 'bm25'" in capsys.readouterr().err
