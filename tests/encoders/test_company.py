"""What a model says of a text does not depend on the texts beside it: float32, int8, and int8 as others make it."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.contract.catalog import WORDS
from tests.encoders.minilm import minilm_folder
from tests.encoders.small_onnx import write_small_onnx
from vizsla.encoders.onnx import OnnxEncoder
from vizsla.encoders.sentence import SentenceEncoder
from vizsla.export.int8 import write_int8
from vizsla.export.onnx import export_onnx

TEXTS = ["", "fig", "the the the the", "pear", *(" ".join(WORDS[: 3 * n + 1]) for n in range(6)), *WORDS[:9]]


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    made = tmp_path_factory.mktemp("models")
    full = export_onnx(SentenceEncoder(minilm_folder(), max_tokens=32), made / "float32")
    (made / "int8").mkdir()
    write_int8(full, made / "int8")
    shutil.copytree(made / "float32", made / "int8 by the batch")
    _round_batches(made / "float32" / "model.onnx", made / "int8 by the batch" / "model.onnx")
    return {name: made / name for name in ("float32", "int8", "int8 by the batch")}


def _round_batches(source: Path, target: Path) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    logger = logging.getLogger()
    before, logger.disabled = logger.disabled, True
    quantize_dynamic(str(source), str(target), weight_type=QuantType.QInt8, op_types_to_quantize=["MatMul"])
    logger.disabled = before


@pytest.mark.parametrize("kind", ["float32", "int8", "int8 by the batch"])
def test_a_text_alone_is_the_text_in_company(folders, kind):
    encoder = OnnxEncoder(folders[kind], batch=4)
    together, tokens = encoder.items(TEXTS), encoder.item_tokens(TEXTS)
    assert (together == np.concatenate([encoder.items([text]) for text in TEXTS])).all()
    assert (together[::-1] == encoder.items(TEXTS[::-1])).all()
    alone = [encoder.item_tokens([text]).rows for text in TEXTS]
    assert (tokens.rows == np.concatenate(alone)).all()


def test_int8_is_nearer_with_a_scale_a_token_than_with_one_a_batch(folders):
    rows = {kind: OnnxEncoder(folder).items(TEXTS[1:]) for kind, folder in folders.items()}
    away = {kind: float(1 - (rows[kind] * rows["float32"]).sum(axis=1).mean()) for kind in rows}
    assert 0 < away["int8"] < away["int8 by the batch"]


def test_a_text_without_tokens_is_a_row_of_zeros(tmp_path):
    encoder = OnnxEncoder(write_small_onnx(tmp_path / "small"), pooling="cls")
    assert not encoder.items(["", "fig"])[0].any() and encoder.items(["", "fig"])[1].any()
    assert np.diff(encoder.item_tokens(["", "fig"]).offsets).tolist() == [0, 1]
