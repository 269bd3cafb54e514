"""`vizsla add` and `vizsla remove`: what Python does, from the shell, and nothing written when it cannot be done."""

from __future__ import annotations

import json

import pytest

import vizsla
from tests.methods.xrlinear.test_cold import NEW, QUERIES, everything
from tests.support.folders import contents
from vizsla.cli import main
from vizsla.methods.bm25 import bm25
from vizsla.methods.typo_tolerant import typo_tolerant


@pytest.fixture
def folder(model, tmp_path):
    """A saved model and a file with new items, one of which has a title."""
    model.save(tmp_path / "model")
    rows = [{"_id": item, "text": text} for item, text in NEW.items()]
    rows[0] = {"_id": "new/1", "title": "garden", "text": "thing12 wheelbarrow"}
    (tmp_path / "new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path


@pytest.fixture
def vizsla_in(folder):
    """Run a verb on files of the folder: `@name` stands for one."""
    return lambda *words: main([str(folder / word[1:]) if word.startswith("@") else word for word in words])


def test_added_items_are_those_that_python_adds(model, folder, vizsla_in, capsys):
    assert vizsla_in("add", "@model", "@new.jsonl", "-o", "@more", "--neighbors", "3") == 0
    assert capsys.readouterr().out.startswith(f"{folder / 'more'}: 3 added, 51 items, ")
    assert everything(vizsla.load(folder / "more")) == everything(model.with_items(NEW, neighbors=3))
    assert vizsla_in("add", "@model", "@new.jsonl", "-o", "@more", "--overwrite") == 0
    assert everything(vizsla.load(folder / "more")) == everything(model.with_items(NEW))


def test_a_folder_can_hold_the_new_items(model, folder, vizsla_in):
    (folder / "beir").mkdir()
    (folder / "new.jsonl").rename(folder / "beir" / "corpus.jsonl")
    assert vizsla_in("add", "@model", "@beir", "-o", "@more") == 0
    assert everything(vizsla.load(folder / "more")) == everything(model.with_items(NEW))


def test_search_finds_an_added_item_and_no_removed_one(vizsla_in, capsys):
    search = ("search", "@model", "wheelbarrow", "garden", "-k", "3", "--json")
    shown = []
    for change in (("add", "@model", "@new.jsonl"), ("remove", "@model", "new/1")):
        assert vizsla_in(*change, "-o", "@model") == 0
        capsys.readouterr()
        assert vizsla_in(*search) == 0
        shown.append([hit["id"] for hit in json.loads(capsys.readouterr().out)["hits"]])
    assert "new/1" in shown[0] and "new/1" not in shown[1] and len(shown[1]) == 3


@pytest.mark.parametrize(
    "words",
    [
        ["new/1", "new/2", "new/3", "-o", "@back"],
        ["-o", "@back", "new/3", "new/1", "new/2", "new/1"],
        ["--from", "@ids", "-o", "@back"],
        ["new/3", "-o", "@back", "--from", "@ids"],
        ["--from", "-", "-o", "@back"],
    ],
)
def test_add_then_remove_is_never_added(folder, vizsla_in, monkeypatch, capsys, words):
    (folder / "ids").write_bytes("\ufeffnew/1\r\n\nnew/2\nnew/3".encode())
    monkeypatch.setattr("sys.stdin", iter(["new/3\r\n", "new/2\n", "\n", "new/1"]))
    assert vizsla_in("add", "@model", "@new.jsonl", "-o", "@more") == 0
    capsys.readouterr()
    assert vizsla_in("remove", "@more", *words) == 0
    assert capsys.readouterr().out.startswith(f"{folder / 'back'}: 3 removed, 48 items, ")
    assert contents(folder / "back") == contents(folder / "model")


def test_removed_items_are_those_that_python_removes(model, folder, vizsla_in):
    assert vizsla_in("remove", "@model", "i3", "i47", "-o", "@fewer") == 0
    assert everything(vizsla.load(folder / "fewer")) == everything(model.without_items(["i3", "i47"]))


def test_an_empty_list_of_ids_removes_nothing(folder, vizsla_in, capsys):
    (folder / "ids").write_text("\n")
    assert vizsla_in("remove", "@model", "--from", "@ids", "-o", "@same") == 0
    assert "0 removed, 48 items" in capsys.readouterr().out
    assert contents(folder / "same") == contents(folder / "model")


def test_a_model_is_replaced_in_place_under_any_of_its_names(model, folder, vizsla_in):
    (folder / "link").symlink_to(folder / "model")
    before = set(folder.iterdir())
    serving = vizsla.load(folder / "model")
    assert vizsla_in("add", "@link", "@new.jsonl", "-o", "@model") == 0
    assert vizsla_in("remove", "@model", "i5", "-o", "@link") == 0
    expected = model.with_items(NEW).without_items(["i5"])
    assert everything(vizsla.load(folder / "model")) == everything(expected)
    assert set(folder.iterdir()) == before and (folder / "link").is_symlink()
    assert serving(QUERIES, k=9) == model(QUERIES, k=9), "who loaded the old model keeps it"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["add", "@model", "@known.jsonl"], "`items` must be new. Got 'i7', which is there"),
        (["add", "@model", "@twice.jsonl"], "the id 'x' was given before, on line 1."),
        (["add", "@model", "@nowhere"], "nowhere"),
        (["add", "@nowhere", "@new.jsonl"], "nowhere: there is no such file or folder"),
        (["add", "@model", "@new.jsonl", "--neighbors", "0"], "`neighbors` must be a whole number above 0. Got 0."),
        (["add", "@words", "@new.jsonl"], "pefa-xl, composition. Got kind 'typo-tolerant' in "),
        (["add", "@model/tree", "@new.jsonl"], "must be a retriever. Got kind 'tree'"),
        (["remove", "@model", "i1", "nobody"], "`item` must be a known id. Got 'nobody'."),
        (["remove", "@model", "--from", "@latin"], "latin: not valid UTF-8"),
        (["remove", "@model", "--from", "@nowhere"], "nowhere"),
        (["remove", "@model"], "At least one id must be given, as an argument or by --from FILE. Got none."),
        (["remove", "@model", *(f"i{n}" for n in range(48))], "At least one item must be left."),
        (["remove", "@words", "fig"], "pefa-xl, composition. Got kind 'typo-tolerant' in "),
    ],
)
@pytest.mark.parametrize("out", ["@out", "in place"])
def test_what_cannot_be_done_is_one_line_and_writes_nothing(folder, vizsla_in, capsys, words, message, out):
    typo_tolerant(bm25({"fig": "a fig"})).save(folder / "words")
    (folder / "known.jsonl").write_text('{"_id": "x", "text": "a"}\n{"_id": "i7", "text": "b"}\n')
    (folder / "twice.jsonl").write_text('{"_id": "x", "text": "a"}\n{"_id": "x", "text": "b"}\n')
    (folder / "latin").write_bytes(b"caf\xe9\n")
    before = contents(folder)
    assert vizsla_in(*words, "-o", words[1] if out == "in place" else out) == 2
    *warnings, error = capsys.readouterr().err.splitlines()
    assert error.startswith("vizsla: ") and message in error
    assert all("1 items with an empty text" in warning for warning in warnings)
    assert contents(folder) == before


def test_another_artifact_is_not_replaced_unless_told(folder, vizsla_in, capsys):
    bm25({"fig": "a fig"}).save(folder / "words")
    before = contents(folder)
    assert vizsla_in("remove", "@model", "i1", "-o", "@words") == 2
    assert "overwrite" in capsys.readouterr().err and contents(folder) == before
    assert vizsla_in("remove", "@model", "i1", "-o", "@words", "--overwrite") == 0
    assert len(vizsla.load(folder / "words").items) == 47


def test_a_model_without_texts_says_how_to_train_it(log, train, folder, vizsla_in, capsys):
    train(log, cold_start=False).save(folder / "plain")
    assert vizsla_in("add", "@plain", "@new.jsonl", "-o", "@plain") == 2
    assert "cold_start=True" in capsys.readouterr().err
    assert vizsla_in("remove", "@plain", "i1", "-o", "@plain") == 0


def test_any_kind_that_learns_to_change_its_items_gets_the_verb(folder, vizsla_in, capsys):
    bm25({"fig": "a fig"}).save(folder / "words")
    assert vizsla_in("add", "@words", "@new.jsonl", "-o", "@words", "--neighbors", "3") == 2
    assert "`--neighbors` must be left out for this kind of model. Got 3." in capsys.readouterr().err
    assert vizsla_in("add", "@words", "@new.jsonl", "-o", "@words") == 0
    assert vizsla.load(folder / "words")("crane", k=1).ids == [["new/2"]]
