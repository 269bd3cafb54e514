"""A tiny ONNX model with a tokenizer of its own, made here: a vector for each of some words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.contract.catalog import WORDS


def write_small_onnx(folder: Path, *, dim: int = 8, seed: int = 0) -> Path:
    """Write model.onnx, tokenizer.json and encoder.json; skip the test where the extra is not installed."""
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    onnx = pytest.importorskip("onnx", reason="the extra onnx is not installed")
    folder.mkdir(parents=True)
    words = {"[PAD]": 0, "[UNK]": 1, **{word: number for number, word in enumerate(sorted(set(WORDS)), 2)}}
    table = np.random.default_rng(seed).standard_normal((len(words), dim)).astype(np.float32)
    helper, kinds = onnx.helper, onnx.TensorProto
    inputs = [helper.make_tensor_value_info(name, kinds.INT64, ["b", "t"]) for name in ("input_ids", "attention_mask")]
    states = helper.make_tensor_value_info("states", kinds.FLOAT, ["b", "t", dim])
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["states"])]
    graph = helper.make_graph(nodes, "small", inputs, [states], [onnx.numpy_helper.from_array(table, "table")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": words, "unk_token": "[UNK]"},
    }  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "encoder.json").write_text(json.dumps({"query_prompt": "", "max_tokens": 16}))
    return folder
