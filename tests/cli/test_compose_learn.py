"""`vizsla compose … --learn`."""

from __future__ import annotations

import json

import pytest

from tests.methods.fusion.test_fuse import fruit_log
from vizsla import fuse, load, tokens
from vizsla.cli import main
from vizsla.compose.parser import sum_terms
from vizsla.data.dataset import Dataset
from vizsla.errors import CompositionError
from vizsla.learning import train_tokens
from vizsla.methods.bm25 import bm25
from vizsla.methods.fusion import learn_fusion
from vizsla.methods.xrlinear.build import xrlinear


@pytest.fixture
def folder(tmp_path):
    log = fruit_log()
    items = [json.dumps({"id": item.id, "text": item.text}) for item in log.items]
    (tmp_path / "items.jsonl").write_text("\n".join(items) + "\n")
    texts, clicks = log.query_texts()[1], log.clicks.tocoo()
    lines = [f"{texts[q]}\t{log.item_ids[int(i)]}\t1" for q, i in zip(clicks.row, clicks.col, strict=True)]
    (tmp_path / "clicks.tsv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_the_command_learns_what_the_function_learns(folder, capsys):
    log = Dataset.open(folder / "items.jsonl", clicks=folder / "clicks.tsv")
    words, tree = bm25(log), xrlinear(log)
    words.save(folder / "words")
    tree.save(folder / "tree")
    given = ["--learn", str(folder / "items.jsonl"), "--clicks", str(folder / "clicks.tsv")]
    lets = ["--let", f"a={folder / 'words'}", "--let", f"b={folder / 'tree'}"]
    output = ["-o", str(folder / "both"), "--report", str(folder / "report.json")]
    assert main(["compose", "a + b", *lets, *given, *output]) == 0
    asked = log.query_texts()[1][:30]
    assert load(folder / "both")(asked, 5).to_dict() == fuse([words, tree], log)(asked, 5).to_dict()
    report = json.loads((folder / "report.json").read_text())
    assert list(report["weights"]) == ["a", "b"]
    assert report["summary"] in capsys.readouterr().out
    missing = ["--learn", str(folder / "nowhere")]
    assert main(["compose", "a + b", *lets, *missing, *output]) == 2
    assert "`--output` must be new" in capsys.readouterr().err  # said before anything is learned
    elsewhere = ["-o", str(folder / "new"), "--report", str(folder / "nowhere" / "report.json")]
    assert main(["compose", "a + b", *lets, *missing, *elsewhere]) == 2
    assert "`--report` must be a file in a folder that is there" in capsys.readouterr().err


def test_the_command_refits_learned_tokens_by_their_recipe(folder):
    log = Dataset.open(folder / "items.jsonl", clicks=folder / "clicks.tsv")
    words, learned = bm25(log), tokens(log, epochs=1)
    words.save(folder / "words")
    learned.save(folder / "tokens")
    given = ["--learn", str(folder / "items.jsonl"), "--clicks", str(folder / "clicks.tsv"), "--cold", "0.3"]
    lets = ["--let", f"a={folder / 'words'}", "--let", f"b={folder / 'tokens'}"]
    output = ["-o", str(folder / "both"), "--report", str(folder / "report.json")]
    assert main(["compose", "a + b", *lets, *given, *output]) == 0
    learned = lambda data: train_tokens(tokens(data, epochs=0), data, epochs=1)  # noqa: E731
    expected = learn_fusion({"a": words, "b": learned}, log, cold=0.3)
    assert json.loads((folder / "report.json").read_text())["choice"] == expected.choice.to_dict()


@pytest.mark.parametrize("expression", ["a", "a | b + c", "a + b >> c", "(a + b)"])
def test_only_a_sum_has_weights(expression):
    with pytest.raises(CompositionError, match="must be a sum"):
        sum_terms(expression)


def test_terms_may_be_compositions():
    assert sum_terms("a.cut(3) + ((b | c) >> d)") == ["a.cut(3)", "((b | c) >> d)"]
