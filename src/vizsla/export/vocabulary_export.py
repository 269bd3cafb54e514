"""A transformer with a vocabulary head written as ONNX, its head cut down to some tokens; int8 if that holds."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla.export.int8_matrices import quantise_file
from vizsla.extra import import_extra

if TYPE_CHECKING:
    from vizsla.training.vocabulary_model import VocabularyModel

Bytes = NDArray[np.uint8]


def vocabulary_onnx(model: VocabularyModel, tokens: NDArray[np.int64]) -> Bytes:
    """Return the bytes of an ONNX model that gives each text a value for each of these tokens."""
    import_extra("onnx", "Exporting to ONNX", "onnx")
    torch = import_extra("torch", "Exporting to ONNX", "neural")
    mask = torch.tensor([[1] * 8, [1] * 5 + [0] * 3])
    inner = model.body
    before = inner.config._attn_implementation
    inner.set_attn_implementation("eager")  # the others take short cuts that depend on the traced mask
    file = io.BytesIO()
    axes = {name: {0: "texts", 1: "tokens"} for name in ("input_ids", "attention_mask")} | {"values": {0: "texts"}}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                _values(model, tokens), (mask, mask), file, input_names=["input_ids", "attention_mask"],
                output_names=["values"], dynamic_axes=axes, opset_version=17, dynamo=False,
            )  # fmt: skip
    finally:
        inner.set_attn_implementation(before)
    return np.frombuffer(file.getvalue(), np.uint8)


def vocabulary_int8(model: Bytes) -> Bytes:
    """Return the model with int8 matrices, unchecked; compare what both find before it is used."""
    with TemporaryDirectory() as folder:
        model.tofile(Path(folder) / "full.onnx")
        quantise_file(Path(folder) / "full.onnx", Path(folder) / "int8.onnx")
        return np.fromfile(Path(folder) / "int8.onnx", np.uint8)


def _values(model: VocabularyModel, tokens: NDArray[np.int64]) -> Any:
    torch = import_extra("torch", "Exporting to ONNX", "neural")
    chosen = torch.from_numpy(np.ascontiguousarray(tokens, np.int64))

    class Values(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.body = model.body
            self.weight = torch.nn.Parameter(model.weight.detach()[chosen].T.contiguous())
            self.bias = torch.nn.Parameter(model.bias.detach()[chosen].clone())

        def forward(self, ids: Any, mask: Any) -> Any:
            states = model.states_of(self.body(input_ids=ids, attention_mask=mask))
            logits = torch.matmul(states, self.weight) + self.bias
            highest = logits.masked_fill(mask.unsqueeze(-1) == 0, -1e30).amax(dim=1)
            return torch.nn.functional.elu(highest) + 1

    return Values().eval()
