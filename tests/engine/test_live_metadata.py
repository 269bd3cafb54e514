"""Metadata in columns of segments: conditions after any change, and deletions by a condition beside other writers."""

import numpy as np
import pytest

from vizsla import Recipe, where
from vizsla.engine import maintenance
from vizsla.engine.engine import Engine

CONDITIONS = {
    "price<5": lambda row: isinstance(row.get("price"), int) and row["price"] < 5,
    "price is null": lambda row: "price" not in row,
    "brand=Bo or price>=8": lambda row: row.get("brand") == "Bo" or row.get("price", 0) >= 8,
    "not tags contains new": lambda row: "new" not in row.get("tags", []),
}


@pytest.fixture
def engine(tmp_path):
    fields = {"price": "number", "brand": "text", "tags": "list"}
    members = {"words": Recipe.of("bm25")}
    with Engine.create(tmp_path / "engine", members=members, metadata=fields, maintenance="manual") as made:
        yield made


def expected(rows, condition):
    return [id for id, row in rows.items() if CONDITIONS[condition](row)]


def add(engine, rows, numbers):
    new = {f"i{n}": {"price": n % 10, "brand": ["Ace", "Bo"][n % 2]} for n in numbers}
    engine.add([{"id": id, "text": "a fig", **row} for id, row in new.items()])
    rows |= new


def check(engine, rows):
    for condition in CONDITIONS:
        found = engine.filter(where(condition))
        assert [id for id, kept in zip(engine.items, found.mask, strict=True) if kept] == expected(rows, condition)


@pytest.mark.parametrize("most", [2, 4000])
def test_conditions_hold_for_columns_and_for_rows_that_changed_since(engine, monkeypatch, most):
    monkeypatch.setattr(maintenance, "MAX_CHANGED_ROWS", most)
    rows, reader = {}, Engine.open(engine.path, maintenance="manual")
    reader.count(where("price<5"))
    for start in range(0, 60, 20):
        add(engine, rows, range(start, start + 20))
        engine.flush()
        check(reader, rows)
    engine.update_metadata({"i3": {"price": None, "tags": ["new"]}, "i21": {"price": 1}, "i59": {"brand": "Bo"}})
    rows["i3"] = {"brand": "Bo", "tags": ["new"]}
    rows["i21"]["price"], rows["i59"]["brand"] = 1, "Bo"
    engine.delete(["i4", "i22"])
    del rows["i4"], rows["i22"]
    for act in (lambda: None, engine.maintain, lambda: add(engine, rows, [100]), engine.compact):
        act()
        for each in (engine, reader, Engine.open(engine.path, maintenance="manual")):
            check(each, rows)
            assert each.missing("tags") == len(rows) - 1
            assert each.generation(metadata=True).items.details.column("price").at(3) == rows["i3"].get("price")
    assert engine.check() == []
    reader.close()


def test_columns_are_written_anew_once_many_rows_have_changed(engine, monkeypatch):
    monkeypatch.setattr(maintenance, "MAX_CHANGED_ROWS", 5)
    rows = {}
    add(engine, rows, range(40))
    engine.flush()
    before = {path.name for path in (engine.path / "segments").iterdir()}
    engine.update_metadata({f"i{n}": {"price": 9} for n in range(6)})
    rows |= {f"i{n}": {**rows[f"i{n}"], "price": 9} for n in range(6)}
    engine.maintain()
    assert before < {path.name for path in (engine.path / "segments").iterdir()}  # postings stay where they are
    with engine._catalog.reading() as connection:
        assert connection.execute("SELECT COUNT(*) FROM metadata_changes").fetchone() == (0,)
    check(engine, rows)


def test_changes_of_rows_whose_segment_is_gone_keep_nothing_busy(engine, monkeypatch):
    monkeypatch.setattr(maintenance, "MAX_CHANGED_ROWS", 2)
    rows = {}
    for start in (0, 20):
        add(engine, rows, range(start, start + 20))
        engine.flush()
    engine.update_metadata({f"i{n}": {"price": 9} for n in range(8)})
    engine.delete([f"i{n}" for n in range(20)])
    rows = {id: row for id, row in rows.items() if int(id[1:]) >= 20}
    engine.compact()  # nothing of the first segment is left
    steps = 0
    while engine._maintenance.step():
        steps += 1
        assert steps < 10
    with engine._catalog.reading() as connection:
        assert connection.execute("SELECT COUNT(*) FROM metadata_changes").fetchone() == (0,)
    check(engine, rows)
    assert engine.check() == []


@pytest.mark.parametrize("flush", [False, True])
def test_a_deletion_by_a_condition_sees_what_other_writers_stored_meanwhile(engine, flush):
    rows = {}
    add(engine, rows, range(20))
    engine.flush()
    other = Engine.open(engine.path, maintenance="manual")
    changes = engine._changes()
    changes.delete(where=where("price<5"))
    changes.prepare()  # evaluated; now another process changes what fulfills the condition
    other.update_metadata({"i0": {"price": 9}, "i9": {"price": 0}})
    other.delete("i1")
    other.upsert([{"id": "i2", "text": "a fig", "price": 7}, {"id": "i8", "text": "a fig", "price": 2}])
    add(other, rows, [30, 37])
    if flush:
        other.flush()
    rows["i0"]["price"], rows["i9"]["price"], rows["i2"]["price"], rows["i8"]["price"] = 9, 0, 7, 2
    del rows["i1"]
    gone = expected(rows, "price<5")
    assert engine._store(changes.apply) == len(gone)
    assert set(engine.items) == set(rows) - set(gone)
    other.close()


def test_texts_of_a_declared_number_are_read_alike_in_all_segments(engine):
    engine.add([{"id": "a", "text": "x", "price": "1.234,50"}, {"id": "b", "text": "x", "price": "2.000"}])
    engine.flush()
    engine.add([{"id": "c", "text": "x", "price": "3.000"}])
    assert np.array_equal(engine.filter(where("price>1000")).mask, [True, True, True])
    engine.compact()
    assert engine.count(where("price>1000")) == 3
