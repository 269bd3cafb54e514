"""`vizsla index tokens` and `vizsla train tokens`."""

from __future__ import annotations

import json

import pytest

from vizsla import load
from vizsla.cli import main
from vizsla.methods.tokens.model import TokenRetriever

VOCABULARY = ["[UNK]", "fig", "##s", "tree", "a", "car", "red", "vehicle"]


@pytest.fixture
def data(tmp_path):
    items = {"a": "a fig tree", "c": "a red car", "d": "figs"}
    lines = [json.dumps({"id": id, "text": text}) for id, text in items.items()]
    (tmp_path / "items.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "clicks.tsv").write_text("vehicle\tc\t1\nred vehicle\tc\t1\nfig\ta\t2\n")
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    return tmp_path


def run(*words: object) -> int:
    return main([str(word) for word in words])


def test_index_train_add_and_search(data, capsys):
    assert run("index", "tokens", data / "items.jsonl", "--vocabulary", data / "vocab.txt", "-o", data / "tokens") == 0
    assert load(data / "tokens")("FIGS", 2).ids == [["d", "a"]]
    clicks = ["--clicks", data / "clicks.tsv", "--epochs", 3]
    assert run("train", "tokens", data / "items.jsonl", "--base", data / "tokens", *clicks, "-o", data / "learned") == 0
    assert load(data / "learned")("vehicle", 1).ids == [["c"]]
    (data / "more.jsonl").write_text('{"id": "e", "text": "a car"}\n')
    assert run("add", data / "learned", data / "more.jsonl", "-o", data / "grown") == 0
    assert sorted(load(data / "grown")("vehicle", 2).ids[0]) == ["c", "e"]
    assert "expansions" in capsys.readouterr().out


def test_items_that_no_token_can_find_are_counted(data, capsys):
    with (data / "items.jsonl").open("a") as file:
        file.write('{"id": "e", "text": "\U0001f697"}\n{"id": "f", "text": "a"}\n')
    assert run("index", "tokens", data / "items.jsonl", "--vocabulary", data / "vocab.txt", "-o", data / "tokens") == 0
    assert "\nwithout a known token, and so never found: 1 of 5" in capsys.readouterr().out
    assert load(data / "tokens")("\U0001f697").ids == [[]] and "f" in load(data / "tokens")("a").ids[0]


def test_a_learned_vocabulary_holds_every_sign(data, capsys):
    pytest.importorskip("tokenizers", reason="the extra onnx is not installed")
    with (data / "items.jsonl").open("a") as file:
        file.write('{"id": "e", "text": "\U0001f697"}\n')
    assert run("index", "tokens", data / "items.jsonl", "--learn-vocabulary", 60, "-o", data / "own") == 0
    assert "without a known token" not in capsys.readouterr().out
    assert load(data / "own")("\U0001f697", 1).ids == [["e"]]


def test_tokens_are_learned_without_a_bag_too(data):
    out = data / "learned"
    assert run("train", "tokens", data / "items.jsonl", "--clicks", data / "clicks.tsv", "--b", 0.25, "-o", out) == 0
    learned = load(out)
    assert isinstance(learned, TokenRetriever)
    assert (learned.b, learned.learned) == (0.25, True)


@pytest.mark.parametrize("wrong", [["--vocabulary", "none.txt"], ["--vocabulary", "x", "--learn-vocabulary", 9]])
def test_wrong_options_are_said_in_one_line(data, wrong, capsys):
    assert run("index", "tokens", data / "items.jsonl", *wrong, "-o", data / "out") == 2
    assert capsys.readouterr().err.startswith("vizsla: ")


@pytest.mark.parametrize("cased", [False, True])
def test_a_learned_vocabulary_keeps_capitals_only_if_told_so(cased, tmp_path):
    pytest.importorskip("tokenizers", reason="the extra onnx is not installed")
    (tmp_path / "items.jsonl").write_text('{"id": "a", "text": "Fig fig Fig fig"}\n{"id": "b", "text": "FIG Pear"}\n')
    argv = ["index", "tokens", str(tmp_path / "items.jsonl"), "-o", str(tmp_path / "out"), "--learn-vocabulary", "40"]
    assert main([*argv, *(["--cased"] if cased else [])]) == 0
    read = load(tmp_path / "out").encoder.words.analyzer
    assert (read("Fig") == read("fig")) != cased
