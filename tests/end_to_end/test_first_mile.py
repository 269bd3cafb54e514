"""From a dirty CSV file or a folder of notes to an answer, as a person types it."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace

import pytest

from vizsla.artifacts.inspect import check
from vizsla.cli import main
from vizsla.data.dataset import Dataset

CSV = """sku,title,description,price,brand
1,Red fig,"A small, sweet fig",3.50,Ace
2,Pear,A green pear,7,Bo
broken line
3,Plum,"A plum, and a fig",2,Ace
"""
LOG = """date,search,sku
2024-05-01,fruit,1
2024-05-02,red,1
2024-05-03,green,2
2024-05-04,fruit,3
2024-05-05,red,1
"""


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text(CSV)
    return path


@pytest.fixture
def index(table, tmp_path, capsys):
    out = tmp_path / "idx"
    options = ["--on-error", "skip", "--rejected", str(tmp_path / "aside"), "--keep-texts"]
    assert main(["index", "bm25", str(table), "-o", str(out), *options]) == 0
    said = capsys.readouterr().err
    assert "id sku; text title + description; metadata price, brand" in said
    assert "1 unreadable lines skipped" in said and (tmp_path / "aside").read_text() == "broken line\n"
    return out


def asked(capsys, *arguments: str) -> list[dict]:
    assert main(["search", *arguments, "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_broken_line_stops_a_command_and_is_named(table, tmp_path, capsys):
    assert main(["index", "bm25", str(table), "-o", str(tmp_path / "idx")]) == 2
    assert "items.csv, line 4: expected 5 columns" in capsys.readouterr().err


def test_answers_show_fields_and_obey_conditions(index, capsys, tmp_path):
    (row,) = asked(capsys, str(index), "fig", "--show", "title,price", "--where", "price<3", "--where", "brand=Ace")
    assert [(hit["id"], hit["title"], hit["price"]) for hit in row["hits"]] == [("3", "Plum", "2")]
    (tmp_path / "ids").write_text("1\n2\n")
    (row,) = asked(capsys, str(index), "fig pear", "--where", str(tmp_path / "ids"), "--where", "price=1..5")
    assert [hit["id"] for hit in row["hits"]] == ["1"]
    assert main(["search", str(index), "fig", "--where", "color=red"]) == 2
    assert "must be one that the items have (title, price, brand, text)" in capsys.readouterr().err


def test_texts_are_shown_without_the_data_at_80_columns(index, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["search", str(index), "sweet fig"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("A small, sweet fig" in line for line in lines) and max(map(len, lines)) <= 80


def test_queries_come_from_a_file_from_standard_input_or_from_a_prompt(index, capsys, tmp_path, monkeypatch):
    (tmp_path / "queries").write_text("fig\npear\n")
    rows = asked(capsys, str(index), "--queries", str(tmp_path / "queries"))
    assert [row["query"] for row in rows] == ["fig", "pear"]
    monkeypatch.setattr("sys.stdin", io.StringIO("plum\n"))
    assert [row["query"] for row in asked(capsys, str(index))] == ["plum"]
    typed = iter(["green pear", ""])
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("builtins.input", lambda prompt: next(typed))
    monkeypatch.setattr("vizsla.cli.search.HISTORY_FILE", tmp_path / "cache" / "history")
    assert main(["search", str(index)]) == 0
    assert "A green pear" in capsys.readouterr().out


def test_a_folder_is_searched_at_once(tmp_path, capsys):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "fruit.md").write_text("# Figs\nSweet and small.\n\n# Pears\nGreen.\n")
    (row,) = asked(capsys, str(tmp_path / "notes"), "green pears", "--show", "path,text", "--passage-min", "0")
    assert row["hits"][0] == {
        "id": "fruit.md#pears", "score": row["hits"][0]["score"], "path": "fruit.md", "text": "Pears Green.",
    }  # fmt: skip


def test_split_by_time_writes_what_can_be_learned_from_and_judged_by(table, tmp_path, capsys):
    (tmp_path / "log.csv").write_text(LOG)
    out, reading = tmp_path / "split", ["--on-error", "skip", "--clicks", str(tmp_path / "log.csv")]
    assert main(["split", str(table), "-o", str(out), "--after", "2024-05-04", *reading]) == 0
    dataset = Dataset.open(out)
    assert dataset.clicks.sum() == 3 and dataset.events.times.max() == 1714694400
    assert dataset.query_texts("cold")[1] == ["fruit"] and dataset.query_texts("warm")[1] == ["red"]
    assert main(["split", str(table), "-o", str(tmp_path / "r"), "--held-out", "0.4", "--cold", "0", *reading]) == 0
    assert len(Dataset.open(tmp_path / "r").query_texts("test")[0]) == 1


def test_a_half_life_is_given_on_the_command_line(table, index, tmp_path, capsys):
    (tmp_path / "log.csv").write_text(LOG)
    arguments = ["--clicks", str(tmp_path / "log.csv"), "-o", str(tmp_path / "pefa"), "--weight", "0.5"]
    assert main(["adapt", "pefa-xs", str(index), *arguments, "--calibrated", "no", "--half-life", "2"]) == 0
    with pytest.raises(SystemExit, match="2"):
        main(["adapt", "pefa-xs", str(index), *arguments, "--half-life", "soon", "--overwrite"])
    assert "--half-life: must be a number or auto. Got 'soon'" in capsys.readouterr().err
    (row,) = asked(capsys, str(tmp_path / "pefa"), "fig", "--show", "price")
    assert row["hits"][0]["price"] in ("2", "3.50"), "what is known of items goes with an adapted retriever"


def test_pefa_xl_takes_an_encoder(table, index, tmp_path, capsys):
    from vizsla.encoders.lsa import LsaEncoder

    (tmp_path / "log.csv").write_text(LOG)
    LsaEncoder.fit(["red fruit", "green fruit", "fruit"], dim=2).save(tmp_path / "lsa")
    settings = ["--weight", "0.5", "--neighbors", "1", "--near", "0", "--threshold", "0", "--votes", "mean"]
    arguments = ["--clicks", str(tmp_path / "log.csv"), "-o", str(tmp_path / "xl"), "--encoder", str(tmp_path / "lsa")]
    assert main(["adapt", "pefa-xl", str(index), *arguments, *settings]) == 0


def test_a_damaged_file_is_counted_once(index, capsys):
    file = index / "items" / "strings.bytes.npy"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    assert len(check(index)) == 1
