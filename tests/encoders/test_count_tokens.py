"""Passages measured in the tokens of an encoder, against its own tokenizer over whole passages."""

from __future__ import annotations

import pytest

from tests.encoders.minilm import minilm_folder
from vizsla.cli import main
from vizsla.data.dataset import Dataset
from vizsla.encoders.onnx import OnnxEncoder
from vizsla.encoders.sentence import SentenceEncoder
from vizsla.export.onnx import export_onnx

TEXT = "# Bäume\n\n" + "Unpruned fig-trees (Ficus carica) photosynthesize, don't they? 无花果树很高。\n" * 40


@pytest.fixture(scope="module")
def encoder():
    return SentenceEncoder(minilm_folder())


def test_passages_fit_into_the_tokens_of_an_encoder(encoder, tmp_path):
    (tmp_path / "a.md").write_text(TEXT)
    items = list(Dataset.open(tmp_path, passage_size=64, passage_unit=encoder.count_tokens).items)
    counts = [len(encoder.model.tokenizer.tokenize(item.text)) for item in items]
    assert all(32 < count <= 64 for count in counts[:-1]) and counts[-1] <= 64
    assert "".join("".join(item.text.split()) for item in items) == "".join(TEXT.split())[len("#Bäume") :]


def test_the_command_line_takes_the_name_of_an_encoder(encoder, tmp_path, capsys):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(TEXT)
    command = ["index", "bm25", str(tmp_path / "docs"), "-o", str(tmp_path / "out"), "--passage-size", "64"]
    assert main([*command, "--passage-unit", minilm_folder()]) == 0
    wanted = list(Dataset.open(tmp_path / "docs", passage_size=64, passage_unit=encoder.count_tokens).item_ids)
    assert len(wanted) > 10 and f"{len(wanted)} items" in capsys.readouterr().out


def test_an_exported_encoder_counts_the_same(encoder, tmp_path):
    export_onnx(encoder, tmp_path / "onnx")
    other = OnnxEncoder(tmp_path / "onnx")
    words = ["fig", "photosynthesize", "无", "don't", ""]
    assert [other.count_tokens(word) for word in words] == [encoder.count_tokens(word) for word in words]
    assert encoder.count_tokens("fig") == 1 and encoder.count_tokens("") == 0
