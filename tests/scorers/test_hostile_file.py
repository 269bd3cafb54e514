"""Score and vector files that somebody prepared: a database can hold programs, and none of them is run."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

from vizsla.cli import main
from vizsla.core.candidates import Candidates
from vizsla.encoders import LsaEncoder
from vizsla.encoders.cache import EmbeddingStore
from vizsla.errors import FormatError
from vizsla.scorers import LateParametric
from vizsla.scorers.cache import ScoreStore
from vizsla.scorers.lazy_vectors import VectorStore, stored_counts

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"
PROGRAMS = {
    "endless view": (
        "DROP TABLE {table}",
        f"CREATE VIEW {{table}} AS {ENDLESS} i AS id, i AS digest, i AS text, i AS encoder, i AS columns, "
        "i AS numbers, i AS seal, i AS scorer, i AS query, i AS item, i AS bits FROM n",
    ),
    "trigger": (f"CREATE TRIGGER t BEFORE INSERT ON {{table}} BEGIN {ENDLESS} MAX(i) FROM n; END",),
    "other columns": ("DROP TABLE {table}", "CREATE TABLE {table} (id, digest, text)"),
    "generated column": ("ALTER TABLE {table} ADD COLUMN more AS (zeroblob(1000000000)) VIRTUAL",),
    "no table": ("DROP TABLE {table}",),
    "one more table": ("CREATE TABLE more (a)",),
}


def made(kind: str, path) -> None:
    if kind == "vectors":
        VectorStore(path, "mine", 3, sparse=False).put(["fig"], np.ones((1, 3), np.float32))
    else:
        ScoreStore(path).put("f", [("q", "fig")], np.ones(1, np.float32))


def used(kind: str, path) -> None:
    if kind == "vectors":
        store = VectorStore(path, "mine", 3, sparse=False)
        store.get(["fig"])
        store.put(["pear"], np.ones((1, 3), np.float32))
    else:
        scores = ScoreStore(path)
        scores.get("f", [("q", "fig")])
        scores.put("f", [("q", "pear")], np.ones(1, np.float32))
        scores.clear("f")


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("kind", ["vectors", "texts", "scores"])
def test_what_a_file_wants_done_is_not_done(kind, name, tmp_path, capsys):
    path = tmp_path / "store.db"
    made(kind, path)
    connection = sqlite3.connect(path)
    for statement in PROGRAMS[name]:
        connection.execute(statement.format(table=kind))
    connection.commit()
    connection.close()
    with pytest.raises(FormatError, match="its tables are not those"):
        used(kind, path)
    if kind == "vectors":
        with pytest.raises(FormatError, match="its tables are not those"):
            stored_counts(path)
        assert main(["inspect", str(path)]) == 2 and "its tables are not those" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["vectors", "scores"])
def test_tables_described_by_what_is_no_text(kind, tmp_path):
    path = tmp_path / "store.db"
    made(kind, path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = CAST(CAST(sql AS BLOB) || x'2f2aff2a2f' AS TEXT)")
    connection.close()
    with pytest.raises(FormatError, match="sound"):
        used(kind, path)


def test_a_file_that_loses_what_it_is_given_is_damaged(tmp_path, monkeypatch):
    """A broken tree of pages can say that a row is there, and not find it."""
    scorer = LateParametric(LsaEncoder.fit(["fig", "pear"], dim=2), {"a": "fig"}, tmp_path / "vectors.db")
    monkeypatch.setattr(VectorStore, "get", lambda self, texts: {})
    with pytest.raises(FormatError, match="not there any more"):
        scorer.score("fig", Candidates.from_dict({"0": {"a": 0.0}}))
    scores = ScoreStore(tmp_path / "scores.db")
    monkeypatch.setattr(ScoreStore, "_numbers", lambda self, connection, texts: {})
    with pytest.raises(FormatError, match="not there any more"):
        scores.put("f", [("q", "fig")], np.ones(1, np.float32))


def test_a_sound_row_of_another_key_than_was_asked_for_is_damage(tmp_path):
    """A damaged page can give rows that do not match the condition: here a view that gives another key when read."""
    texts, numbers = ["fig", "pear"], np.ones((2, 2), np.float32)
    vectors = VectorStore(tmp_path / "vectors.db", "mine", 2, sparse=False)
    vectors.put(texts, numbers)
    kept = EmbeddingStore(tmp_path / "kept.db")
    kept.put("mine", 0, texts, numbers)
    scores = ScoreStore(tmp_path / "scores.db")
    scores.put("mine", [("q", text) for text in texts], numbers[:, 0])
    uses = {
        vectors: ("vectors", "text", lambda: vectors.get(["fig"])),
        kept: ("vectors", "text", lambda: kept.get("mine", 0, 2, ["fig"])),
        scores: ("scores", "item", lambda: scores.get("mine", [("q", "fig")])),
    }
    for store, (table, key, use) in uses.items():
        with store._file.reading() as connection:
            names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            columns = ", ".join(f"b.{name}" for name in names if name != key)
            either = f"CASE random() % 2 WHEN 0 THEN a.{key} ELSE b.{key} END AS {key}"
            connection.execute(
                f"CREATE TEMP VIEW {table} AS SELECT {either}, {columns} FROM main.{table} a, main.{table} b"
            )
        for _ in range(40):
            with pytest.raises(FormatError, match="not a sound"):
                while True:  # whether a row is found at all is drawn, too
                    use()
