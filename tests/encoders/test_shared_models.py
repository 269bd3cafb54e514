"""A model that is opened twice, or that several artifacts name, is in memory once, and goes when nothing uses it."""

from __future__ import annotations

import gc
import os
import weakref

import pytest

import vizsla
from tests.encoders.small_onnx import write_small_onnx
from vizsla._internal.lazy import shared_model
from vizsla.encoders import OnnxEncoder, open_encoder
from vizsla.errors import InputError

TEXTS = {"a": "fig tree", "b": "pear leaf"}


def test_a_folder_that_is_opened_twice_is_one_model(tmp_path):
    folder = write_small_onnx(tmp_path / "model")
    first = open_encoder(folder)
    assert open_encoder(str(folder)) is first
    assert open_encoder(folder, query_prompt="fig ") is not first
    os.utime(folder / "model.onnx", ns=(1, 1))  # as if the file were another
    assert open_encoder(folder) is not first


@pytest.mark.parametrize("bundle", [True, False])
def test_two_artifacts_use_one_model(tmp_path, bundle):
    encoder = OnnxEncoder(write_small_onnx(tmp_path / "model"))
    for name in ("one", "two"):
        vizsla.dense(TEXTS, encoder=encoder).save(tmp_path / name, bundle_models=bundle)
    one, two = vizsla.load(tmp_path / "one"), vizsla.load(tmp_path / "two")
    assert one("fig").to_dict() == two("fig").to_dict() != {"0": {}}
    assert one.encoder.loaded() is two.encoder.loaded()


def test_a_model_that_nothing_uses_is_let_go(tmp_path):
    folder = write_small_onnx(tmp_path / "model")
    made = weakref.ref(open_encoder(folder))
    gc.collect()
    assert made() is None
    assert open_encoder(folder).dim == 8


def test_a_model_that_cannot_be_loaded_is_tried_again():
    class Model:
        pass

    def fail():
        raise InputError("not there")

    with pytest.raises(InputError):
        shared_model("a model of this test", fail)
    assert isinstance(shared_model("a model of this test", Model), Model)
