"""vizsla train dssm and train bi-encoder: what they write is an encoder that vizsla index dense takes."""

from __future__ import annotations

import pytest

from tests.cli.test_cross_encoder import write
from tests.methods.test_cross_encoder import log
from tests.support.tiny_bert import tiny_bert
from vizsla import load
from vizsla.cli import main


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoders") / "data"
    write(log(), folder)
    return str(folder)


def indexed(data, encoder, out):
    assert main(["index", "dense", data, "--encoder", str(encoder), "-o", str(out)]) in (0, None)
    return load(out)


def test_words_are_trained_and_indexed(data, tmp_path, capsys):
    told = ["train", "dssm", data, "-o", str(tmp_path / "words"), "--dim", "8", "--epochs", "2", "--batch", "16"]
    assert main(told) in (0, None)
    said = capsys.readouterr().out
    assert "8 dimensions" in said and "held-out nDCG@10:" in said
    search = indexed(data, tmp_path / "words", tmp_path / "search")
    assert search.encoder.dim == 8 and search("fig", k=2).ids
    assert main(told) not in (0, None)
    assert "must be new" in capsys.readouterr().err


@pytest.mark.parametrize("towers", ["shared", "queries"])
def test_a_transformer_is_trained_and_indexed(data, towers, tmp_path, capsys):
    bert = tiny_bert(tmp_path / "bert", head=False)
    told = ["train", "bi-encoder", data, "--model", str(bert), "-o", str(tmp_path / "tuned"), "--towers", towers]
    assert main([*told, "--max-steps", "2", "--batch", "8", "--held-out", "8", "--depth", "5"]) in (0, None)
    assert "16 dimensions" in capsys.readouterr().out
    assert indexed(data, tmp_path / "tuned", tmp_path / "search")("fig", k=2).ids
    assert main([*told, "--overwrite"]) not in (0, None)
    assert "`--overwrite` must be left out" in capsys.readouterr().err
