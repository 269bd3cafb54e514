"""Int8 matrices for ONNX models."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.lazy import import_extra
from vizsla.encoders.onnx import MODEL, SETTINGS, TOKENIZER, OnnxEncoder
from vizsla.encoders.persistence import own_files
from vizsla.export.checks import MAX_RECALL_LOSS, QuantizationCheck, check_quantization
from vizsla.io.atomic import writing_folder
from vizsla.typing import Float32Array

# Int8 matrices for an ONNX model, with a scale for every token that goes through them.
#
# ONNX Runtime's own dynamic quantization rounds a whole batch by its largest value. Then one text changes another's
# numbers, and an outlier anywhere costs precision everywhere. Here each token's values are divided by their own
# largest.

NODE_PREFIX = "vizsla_int8_"
CONSTANTS = {
    "one": np.float32(1), "least": np.float32(1e-30), "step": np.float32(1 / 127), "middle": np.uint8(128),
    "last_axis": np.array([-1], np.int64),
}  # fmt: skip
"""A row of zeros has a scale too; values lie between -127 and 127, and are stored around 128."""
CONTRIB_DOMAIN = "com.microsoft"


class Int8Matrix(NamedTuple):
    """Whole numbers and what they are multiplied by, column by column."""

    numbers: NDArray[np.int8]
    scales: Float32Array


def quantize_file(source: Path, target: Path, *, per_channel: bool = True) -> None:
    """Write an ONNX model with its matrices in int8."""
    onnx = import_extra("onnx", "Quantizing", "onnx")
    model = onnx.load(str(source))
    _quantize(onnx, model, per_channel=per_channel)
    onnx.save(model, str(target))


def int8_matrix(matrix: Float32Array, *, per_channel: bool = True) -> Int8Matrix:
    """Return the nearest whole numbers, with a scale for each column or one for all.

    Examples
    --------
    >>> int8_matrix(np.array([[1.0, 0.0], [-2.0, 0.5]], np.float32)).numbers.tolist()
    [[64, 0], [-127, 127]]
    """
    highest = np.abs(matrix).max(axis=0, initial=0.0)
    if not per_channel:
        highest = np.full_like(highest, highest.max(initial=0.0))
    scales = np.where(highest > 0, highest / 127, 1).astype(np.float32)
    return Int8Matrix(np.rint(matrix / scales).astype(np.int8), scales)


def _quantize(onnx: Any, model: Any, *, per_channel: bool) -> None:
    """Put whole-number products in the place of all products with a fixed matrix."""
    graph, arrays = model.graph, onnx.numpy_helper
    stored = {each.name: each for each in graph.initializer}
    nodes, rounded = [], set[str]()
    for node in graph.node:
        if not _has_matrix(node, stored):
            nodes.append(node)
            continue
        given, name, made = node.input[0], node.input[1], node.output[0]
        if given not in rounded:
            rounded.add(given)
            nodes += _rounding(onnx, given, _opset(model))
        nodes += _product(onnx, given, name, made)
        if NODE_PREFIX + name not in stored:
            int8 = int8_matrix(arrays.to_array(stored[name]), per_channel=per_channel)
            more = (
                arrays.from_array(int8.numbers, NODE_PREFIX + name),
                arrays.from_array(int8.scales, f"{NODE_PREFIX}{name}_by"),
            )
            graph.initializer.extend(more)
            stored[NODE_PREFIX + name] = more[0]
    if rounded:
        graph.initializer.extend(
            arrays.from_array(np.array(value), NODE_PREFIX + key) for key, value in CONSTANTS.items()
        )
        _know_contributed(onnx, model)
    _replace(graph.node, nodes)
    _replace(graph.initializer, list(_needed(graph)))


def _has_matrix(node: Any, stored: dict[str, Any]) -> bool:
    fixed = stored.get(node.input[1]) if node.op_type == "MatMul" else None
    return fixed is not None and len(fixed.dims) == 2 and fixed.data_type == 1  # float32


def _rounding(onnx: Any, given: str, opset: int) -> Iterator[Any]:
    """Yield what divides each row by its largest value, and rounds it to whole numbers around 128."""
    node, own = onnx.helper.make_node, NODE_PREFIX + given
    yield node("Abs", [given], [own + "_abs"])
    if opset < 18:  # axes were an attribute
        yield node("ReduceMax", [own + "_abs"], [own + "_highest"], axes=[-1], keepdims=1)
    else:
        yield node("ReduceMax", [own + "_abs", NODE_PREFIX + "last_axis"], [own + "_highest"], keepdims=1)
    yield node("Max", [own + "_highest", NODE_PREFIX + "least"], [own + "_positive"])
    yield node("Mul", [own + "_positive", NODE_PREFIX + "step"], [own + "_scale"])
    yield node("Div", [given, own + "_scale"], [own + "_divided"])
    yield node("QuantizeLinear", [own + "_divided", NODE_PREFIX + "one", NODE_PREFIX + "middle"], [own + "_whole"])


def _product(onnx: Any, given: str, matrix: str, made: str) -> Iterator[Any]:
    """Yield the product of whole numbers, times the matrix's scales and each row's."""
    node, own = onnx.helper.make_node, NODE_PREFIX + given
    parts = [
        own + "_whole",
        NODE_PREFIX + matrix,
        NODE_PREFIX + "one",
        f"{NODE_PREFIX}{matrix}_by",
        NODE_PREFIX + "middle",
    ]
    yield node("MatMulIntegerToFloat", parts, [f"{NODE_PREFIX}{made}_columns"], domain=CONTRIB_DOMAIN)
    yield node("Mul", [f"{NODE_PREFIX}{made}_columns", own + "_scale"], [made])


def _opset(model: Any) -> int:
    return next(int(each.version) for each in model.opset_import if each.domain in ("", "ai.onnx"))


def _know_contributed(onnx: Any, model: Any) -> None:
    if all(each.domain != CONTRIB_DOMAIN for each in model.opset_import):
        model.opset_import.append(onnx.helper.make_opsetid(CONTRIB_DOMAIN, 1))


def _needed(graph: Any) -> Iterator[Any]:
    """Yield the arrays that some node still takes, or that the graph gives out."""
    taken = {name for node in graph.node for name in node.input} | {each.name for each in graph.output}
    inner = any(attribute.type in (5, 10) for node in graph.node for attribute in node.attribute)  # graphs inside
    return (each for each in graph.initializer if inner or each.name in taken)


def _replace(repeated: Any, values: list[Any]) -> None:
    kept = [type(value).FromString(value.SerializeToString()) for value in values]
    del repeated[:]
    repeated.extend(kept)


def quantize(
    encoder: OnnxEncoder,
    path: str | Path,
    queries: Sequence[str],
    items: Sequence[str],
    *,
    relevant: Sequence[Sequence[int]] | None = None,
    depth: int = 10,
    max_loss: float = MAX_RECALL_LOSS,
    per_channel: bool = True,
    overwrite: bool = False,
) -> tuple[OnnxEncoder, QuantizationCheck]:
    """Write an int8 twin, try it on held-out queries, and keep it if it holds.

    Returns the int8 encoder, or the given one when recall falls by more than `max_loss`; then nothing is written. The
    check says which, and how much was lost.

    Parameters
    ----------
    encoder : OnnxEncoder
        The float32 model.
    path : path
        The folder to make.
    queries, items, relevant, depth, max_loss
        As in `check_quantization`.
    per_channel : bool
        A scale for every column of a weight matrix. One for the whole matrix is no faster, and loses several times as
        much.
    overwrite : bool
        Replace a folder that is there already.
    """
    rules = {"relevant": relevant, "depth": depth, "max_loss": max_loss}
    with TemporaryDirectory() as trial:
        write_int8(encoder, Path(trial), per_channel=per_channel)
        small = OnnxEncoder(trial, threads=encoder.threads)
        check = check_quantization(encoder, small, queries, items, **rules)  # type: ignore[arg-type]
        if not check.accepted:
            return encoder, check
        with writing_folder(path, overwrite=overwrite) as folder:
            shutil.copytree(trial, folder, dirs_exist_ok=True)
    return OnnxEncoder(path, threads=encoder.threads), check


def write_int8(encoder: OnnxEncoder, folder: Path, *, per_channel: bool = True) -> None:
    """Write the model with int8 matrices to a folder that is there, unchecked; `quantize` checks it."""
    with own_files(encoder.path) as own:
        quantize_file(own / MODEL, folder / MODEL, per_channel=per_channel)
        shutil.copyfile(own / TOKENIZER, folder / TOKENIZER)
    encoder.settings.write(folder / SETTINGS)
