"""Write encoders as ONNX models."""

from __future__ import annotations

import io
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.lazy import import_extra
from vizsla.encoders.onnx import MODEL, SETTINGS, TOKENIZER, OnnxEncoder, OnnxSettings
from vizsla.encoders.persistence import PAIR_SETTINGS, own_files
from vizsla.encoders.sentence import SentenceEncoder
from vizsla.errors import InputError
from vizsla.export.int8 import quantize_file
from vizsla.io.atomic import writing_folder
from vizsla.typing import Uint8Array

if TYPE_CHECKING:
    from vizsla.learning.torch_vocabulary import VocabularyModel

MODEL_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def export_onnx(
    encoder: SentenceEncoder, path: str | Path, *, overwrite: bool = False, threads: int = 1
) -> OnnxEncoder:
    """Write the model to a folder that `OnnxEncoder` reads, and return that (extras `neural` and `onnx`).

    Parameters
    ----------
    encoder : SentenceEncoder
        A model that takes token ids and pools by mean or by its first token. Its prompts, its limit of tokens and
        its normalization are written too.
    path : path
        The folder to make.
    overwrite : bool
        Replace a folder that is there already.
    threads : int
        Threads of ONNX Runtime.
    """
    import_extra("onnx", "Exporting to ONNX", "onnx")
    pooling = _pooling(encoder.model)
    with writing_folder(path, overwrite=overwrite) as folder:
        _export(encoder.model, folder / MODEL)
        write_tokenizer(encoder.model.tokenizer, folder)
        settings = encoder.options | {"pooling": pooling, "max_tokens": int(encoder.model.max_seq_length)}
        OnnxSettings(**settings).write(folder / SETTINGS)
    return OnnxEncoder(path, threads=threads)


def copy_onnx(encoder: OnnxEncoder, path: str | Path, *, overwrite: bool = False) -> OnnxEncoder:
    """Copy an ONNX folder with the settings that the encoder has now, and return the encoder of the copy.

    Weights in files beside the model are copied too; links raise.
    """
    with own_files(encoder.path) as own, writing_folder(path, overwrite=overwrite) as folder:
        for file in own.iterdir():
            if file.name not in (SETTINGS, PAIR_SETTINGS):
                shutil.copyfile(file, folder / file.name)
        encoder.settings.write(folder / SETTINGS)
    return OnnxEncoder(path, threads=encoder.threads)


def _pooling(model: Any) -> str:
    kinds = [type(module).__name__ for module in model]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise InputError(f"The model must be a transformer with pooling. Got {', '.join(kinds)}.")
    mode = model[1].get_pooling_mode_str() if hasattr(model[1], "get_pooling_mode_str") else model[1].pooling_mode
    name = mode if isinstance(mode, str) else "+".join(mode)
    if name not in ("mean", "cls"):
        raise InputError(f"The model must pool by mean or cls. Got {name}.")
    return name


def _export(model: Any, file: Path) -> None:
    inner = getattr(model[0], "auto_model", None) or model[0].model
    write_traced(inner, lambda given: inner(**given).last_hidden_state, file, output=("states", ("texts", "tokens")))


def write_traced(
    inner: Any, forward: Callable[[dict[str, Any]], Any], file: Path, *, output: tuple[str, tuple[str, ...]]
) -> None:
    """Write what `forward` makes of a transformer's inputs as ONNX; `output` is its name and its axes."""
    torch = import_extra("torch", "Exporting to ONNX", "neural")
    before = inner.config._attn_implementation
    inner.set_attn_implementation("eager")  # the others take short cuts that depend on the traced mask
    names = [name for name in MODEL_INPUTS if name != "token_type_ids" or hasattr(inner.config, "type_vocab_size")]
    device = next(inner.parameters()).device
    mask = torch.tensor([[1] * 8, [1] * 5 + [0] * 3], device=device)
    example = tuple({"input_ids": mask, "attention_mask": mask}.get(name, mask * 0) for name in names)
    axes = {name: {0: "texts", 1: "tokens"} for name in names} | {output[0]: dict(enumerate(output[1]))}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                _traceable(inner, names, forward),
                example,
                str(file),
                input_names=list(names),
                output_names=[output[0]],
                dynamic_axes=axes,
                opset_version=17,
                dynamo=False,
            )
    finally:
        inner.set_attn_implementation(before)


def write_tokenizer(tokenizer: Any, folder: Path) -> None:
    """Write a tokenizer as the one file that ONNX folders have."""
    tokenizer.save_pretrained(str(folder / "tokenizer"))
    (folder / "tokenizer" / TOKENIZER).rename(folder / TOKENIZER)
    shutil.rmtree(folder / "tokenizer")


def _traceable(inner: Any, names: list[str], forward: Callable[[dict[str, Any]], Any]) -> Any:
    torch = import_extra("torch", "Exporting to ONNX", "neural")

    class Traced(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, *given: Any) -> Any:
            return forward(dict(zip(names, given, strict=True)))

    return Traced().eval()


def vocabulary_onnx(model: VocabularyModel, tokens: NDArray[np.int64]) -> Uint8Array:
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


def vocabulary_int8(model: Uint8Array) -> Uint8Array:
    """Return the model with int8 matrices, unchecked; compare what both find before it is used."""
    with TemporaryDirectory() as folder:
        model.tofile(Path(folder) / "full.onnx")
        quantize_file(Path(folder) / "full.onnx", Path(folder) / "int8.onnx")
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
