"""A damaged or prepared engine: a typed error, and nothing outside of its folder is read, copied or removed."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

import vizsla
from vizsla import Engine, Recipe
from vizsla.cli import main
from vizsla.errors import FormatError, VizslaError


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "shop"
    with closing(Engine.create(path, members={"words": Recipe.of("bm25")}, maintenance="manual")) as engine:
        engine.add([{"id": "f", "text": "a fig", "price": 3}, {"id": "p", "text": "a pear", "price": 2}])
        engine.flush()
        engine.snapshot("before")
    return path


def _forge(folder, sql, *values):
    with closing(sqlite3.connect(folder / "catalog.sqlite", isolation_level=None)) as connection:
        connection.execute(sql, values)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE state SET layout = -1",
        "UPDATE settings SET value = '0.5' WHERE name = 'durability'",
        "UPDATE settings SET value = '[]' WHERE name = 'default'",
        "UPDATE settings SET value = 'x' WHERE name = 'flush_rows'",
        "UPDATE segments SET s = s + 3",
        "UPDATE segments SET files = '{\"ids.npy\": 3}'",
        "UPDATE members SET name = x'00'",
        "UPDATE members SET definition = '[]'",
        "UPDATE fields SET kind = 7",
        "UPDATE fields SET style = '[-1, false]'",
        "UPDATE segments SET folder = '../elsewhere/rows'",
    ],
)
def test_what_no_engine_stores_is_refused_when_it_is_opened(folder, sql):
    _forge(folder, sql)
    with pytest.raises(FormatError):
        Engine.open(folder, maintenance="manual")


@pytest.mark.parametrize("definition", ["7", "\U0001f600", json.dumps({"artifact": "../neighbor/model"})])
def test_a_forged_snapshot_is_refused_where_it_is_used(folder, tmp_path, definition):
    members = [{"m": 1, "name": "words", "definition": definition}]
    _forge(folder, "UPDATE snapshots SET members = ?", json.dumps({"members": members, "default": "words"}))
    with closing(Engine.open(folder, maintenance="manual")) as engine:
        for use in (lambda: engine.rollback("before"), lambda: engine.backup(tmp_path / "copy"), engine.compact):
            with pytest.raises(FormatError):
                engine.add([{"id": "n", "text": "more"}]) if not engine.get("n") else None
                use()
    assert not (tmp_path / "copy").exists()


def test_a_forged_list_of_folders_removes_and_copies_nothing_elsewhere(folder, tmp_path):
    neighbor = tmp_path / "neighbor"
    neighbor.mkdir()
    (neighbor / "secret").write_text("kept")
    with closing(Engine.open(folder, maintenance="manual")) as engine:
        engine.search("fig")
        _forge(folder, "INSERT INTO parts VALUES (99, 99, '../neighbor/rows', '{}')")
        for use in (engine.flush, engine.compact, engine.maintain, lambda: engine.backup(tmp_path / "copy")):
            with pytest.raises(VizslaError):
                engine.upsert({"f": "another fig"})
                use()
    assert (neighbor / "secret").read_text() == "kept" and not (tmp_path / "copy").exists()


def test_links_are_not_followed(folder, tmp_path):
    (tmp_path / "secret").write_bytes(b"secret")
    (file,) = folder.glob("segments/*/rows/ids.npy")
    file.with_name("more").symlink_to(tmp_path / "secret")
    with closing(Engine.open(folder, maintenance="manual")) as engine:
        copy = engine.backup(tmp_path / "copy")
    restored = vizsla.Engine.restore(folder, tmp_path / "restored", maintenance="manual")
    assert restored.search("pear").ids == [["p"]]
    restored.close()
    for made in (copy, tmp_path / "restored"):
        copied = [path for path in made.rglob("*") if path.is_file() and not path.is_symlink()]
        assert not [path for path in copied if path.read_bytes() == b"secret"]
    content = file.read_bytes()
    (tmp_path / "same").write_bytes(content)
    file.unlink()
    file.symlink_to(tmp_path / "same")
    with pytest.warns(UserWarning, match="made anew"):
        Engine.open(folder, maintenance="manual").close()


def test_a_name_that_a_terminal_would_obey_is_escaped(folder, capsys):
    assert main(["engine", "snapshot", str(folder), "\x1b[31m"]) == 0
    assert "\x1b" not in capsys.readouterr().out
