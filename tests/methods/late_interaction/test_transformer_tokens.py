"""Token vectors of a transformer: torch's and ONNX Runtime's agree, and pooled they are the text's vector."""

from __future__ import annotations

import numpy as np
import pytest

import vizsla
from tests.contract.encoders import _onnx, _sentence
from vizsla.methods.late_interaction import late_interaction

TEXTS = ["fig", "a ripe fig under an old tree, with leaves", "", "pears"]


@pytest.fixture(scope="module", params=["sentence", "onnx"])
def make(request):
    return _sentence if request.param == "sentence" else _onnx


def test_pooled_tokens_are_the_texts_vector(make):
    encoder = make(normalize=False)
    tokens = encoder.item_tokens(TEXTS)
    for number, row in enumerate(encoder.items(TEXTS)):
        pooled = tokens[np.array([number])].rows.mean(axis=0)
        # The sentence model brings its vectors to length 1 by itself.
        assert np.allclose(pooled / np.linalg.norm(pooled), row / np.linalg.norm(row), atol=1e-4)


def test_tokens_have_length_1_names_and_a_limit(make):
    encoder = make(max_tokens=8)
    tokens = encoder.query_tokens(TEXTS)
    assert np.allclose(np.linalg.norm(tokens.rows, axis=1), 1, atol=1e-5)
    assert np.diff(tokens.offsets).tolist() == [3, 8, 2, 4]
    assert encoder.query_words("fig") == ["[CLS]", "fig", "[SEP]"]
    assert [len(encoder.query_words(text)) for text in TEXTS] == [3, 8, 2, 4]


def test_torch_and_onnx_agree():
    assert np.allclose(_sentence().query_tokens(TEXTS).rows, _onnx().query_tokens(TEXTS).rows, atol=1e-4)


def test_saved_with_its_model(make, tmp_path):
    search = late_interaction(dict(zip("abcd", TEXTS, strict=True)), make())
    found = search("figs")
    assert found.ids[0][0] == "a"
    loaded = vizsla.load(search.save(tmp_path / "saved"))
    assert loaded("figs").to_dict() == found.to_dict()
    assert loaded.explain("figs", "b").score == pytest.approx(found.to_dict()["0"]["b"])
