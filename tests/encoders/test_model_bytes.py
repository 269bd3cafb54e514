"""`nbytes` counts a model's weights wherever they lie: in a file, in an artifact, in another library's memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import vizsla
from tests.contract.catalog import ITEMS, QUERIES
from tests.encoders.small_onnx import write_small_onnx
from tests.support.tiny_bert import tiny_bert
from vizsla.encoders.late import WordEncoder
from vizsla.encoders.onnx import OnnxEncoder
from vizsla.encoders.persistence import LazyEncoder
from vizsla.errors import InputError
from vizsla.methods.bm25 import bm25
from vizsla.methods.dense import dense
from vizsla.methods.late_interaction import late_interaction
from vizsla.scorers.cross_encoder import CrossEncoder
from vizsla.scorers.lazy_vectors import LateParametric
from vizsla.scorers.pair_models import TorchPairModel

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def model(tmp_path):
    return write_small_onnx(tmp_path / "model")


@pytest.mark.parametrize("bundle", [True, False])
def test_an_onnx_model_counts_before_saving_and_after_loading(model, tmp_path, bundle):
    encoder, weights = OnnxEncoder(model), (model / "model.onnx").stat().st_size
    search = dense(ITEMS, encoder)
    assert encoder.nbytes == weights > 0 and search.nbytes == search.index.nbytes + weights
    search.save(tmp_path / "saved", bundle_models=bundle)
    again = vizsla.load(tmp_path / "saved")
    assert again.nbytes == search.nbytes, "known before the model is loaded"
    assert isinstance(again.encoder, LazyEncoder) and again.encoder._encoder is None
    assert again(QUERIES, k=3) == search(QUERIES, k=3) and again.nbytes == search.nbytes


def test_weights_beside_the_model_count_too(model):
    (model / "model.onnx_data").write_bytes(b"\0" * 1000)
    assert OnnxEncoder(model).nbytes == (model / "model.onnx").stat().st_size + 1000


def test_parts_that_share_a_model_count_it_once(model):
    encoder, weights = OnnxEncoder(model), (model / "model.onnx").stat().st_size
    search, tokens = dense(ITEMS, encoder), late_interaction(ITEMS, encoder)
    words = late_interaction(ITEMS, WordEncoder(encoder))
    together = search.normalized() + tokens.normalized() + words.normalized()
    assert together.nbytes == search.nbytes + tokens.nbytes + words.nbytes - 2 * weights


def test_late_vectors_count_with_their_model(model, tmp_path):
    encoder = OnnxEncoder(model)
    late = LateParametric(encoder, dict(ITEMS), tmp_path / "vectors.db")
    search, words = bm25(ITEMS) >> late, bm25(ITEMS)
    assert late.nbytes == encoder.nbytes and search.nbytes == words.nbytes + encoder.nbytes
    search(QUERIES, k=3)
    assert late.nbytes == encoder.nbytes + late.encoded * encoder.dim * 4 > encoder.nbytes
    late.close()


def test_a_cross_encoder_counts_its_weights(tmp_path):
    model = TorchPairModel(tiny_bert(tmp_path / "bert"))
    numbers = sum(weights.numel() for weights in model.model.state_dict().values())
    scorer = CrossEncoder(dict(ITEMS), model)
    assert scorer.nbytes == model.nbytes == 4 * numbers > 0
    words = bm25(ITEMS)
    pipeline = words >> scorer
    assert pipeline.nbytes == words.nbytes + scorer.nbytes
    pipeline.save(tmp_path / "saved", bundle_models=True)
    assert vizsla.load(tmp_path / "saved").nbytes == pipeline.nbytes


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "9", 2**63])
def test_a_record_of_bytes_is_a_number_of_bytes(wrong):
    record = {"kind": "onnx", "dim": 3, "fingerprint": "onnx:1", "name": "", "options": {}}
    assert LazyEncoder(record).nbytes == 0
    with pytest.raises(InputError, match="`bytes`"):
        LazyEncoder({**record, "bytes": wrong})


MEASURE = """
import json, sys
from pathlib import Path
import numpy as np
from vizsla.encoders.onnx import OnnxEncoder
def peak():
    return 1024 * int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
OnnxEncoder(sys.argv[1]).queries(["fig"])
before = peak()
encoder = OnnxEncoder(sys.argv[2])
encoder.queries(["fig"])
print(json.dumps({"grown": peak() - before, "counted": encoder.nbytes}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_process_grows_by_what_is_counted(model, tmp_path):
    large = write_small_onnx(tmp_path / "large", dim=200_000)
    command = [sys.executable, "-c", MEASURE, str(model), str(large)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    measured = json.loads(done.stdout)
    assert measured["counted"] > 10e6 and measured["grown"] > 0.7 * measured["counted"]
