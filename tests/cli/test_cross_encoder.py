"""vizsla train cross-encoder, and its export."""

from __future__ import annotations

import json

import pytest

from tests.methods.test_cross_encoder import log
from tests.support.tiny_bert import tiny_bert
from vizsla.cli import main
from vizsla.scorers.cross_encoder import CrossEncoder


def write(data, folder):
    """Write a dataset in BEIR's form, its clicks as the split train."""
    (folder / "qrels").mkdir(parents=True)
    corpus = [{"_id": item.id, "text": item.default_text()} for item in data.items]
    queries = [{"_id": query.id, "text": query.text} for query in data.queries]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus))
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    rows, columns = data.clicks.nonzero()
    lines = [f"{queries[row]['_id']}\t{corpus[column]['_id']}\t1" for row, column in zip(rows, columns, strict=True)]
    (folder / "qrels" / "train.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *lines]) + "\n")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    write(log(), folder / "data")
    bert = tiny_bert(folder / "bert", head=False)
    given = [str(folder / "data"), "--model", str(bert), "-o", str(folder / "model"), "--layers", "1"]
    sizes = ["--max-steps", "3", "--every", "2", "--batch", "4", "--held-out", "8"]
    assert main(["train", "cross-encoder", *given, *sizes]) in (0, None)
    return folder


def test_train_then_export_then_score(trained, capsys):
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    assert main(["export", "onnx", str(trained / "model"), "--cross-encoder", "-o", str(trained / "onnx")]) in (0, None)
    checked = ["--int8", "--data", str(trained / "data"), "--max-loss", "1", "--split", "train"]
    told = ["export", "onnx", str(trained / "model"), "--cross-encoder", "-o", str(trained / "int8"), *checked]
    assert main(told) in (0, None)
    assert "int8 accepted" in capsys.readouterr().out
    items = {item.id: item.default_text() for item in log().items}
    for folder in ("model", "onnx", "int8"):
        assert len(CrossEncoder(items, trained / folder).model.scores(["fig"], ["fig tree"])) == 1


def test_refused_int8_leaves_float32_and_exit_code_1(trained, tmp_path, capsys):
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    checked = ["--int8", "--data", str(trained / "data"), "--max-loss", "-1", "--split", "train"]
    told = ["export", "onnx", str(trained / "model"), "--cross-encoder", "-o", str(tmp_path / "out"), *checked]
    assert main(told) == 1
    printed = capsys.readouterr().out
    assert "int8 refused" in printed and "float32, since int8 was refused" in printed
    pairs = ["fig", "pear"], ["fig tree", "a car"]
    full = CrossEncoder({"a": "fig"}, trained / "model").model.scores(*pairs)
    assert CrossEncoder({"a": "fig"}, tmp_path / "out").model.scores(*pairs) == pytest.approx(full, abs=1e-5)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_prompts_are_refused(trained, capsys):
    told = ["export", "onnx", str(trained / "model"), "--cross-encoder", "-o", str(trained / "no")]
    assert main([*told, "--query-prompt", "q: "]) not in (0, None)
    assert "no prompts" in capsys.readouterr().err
