"""Int8 weights for an ONNX encoder, after a look at what they cost."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.encoders.extra import import_extra
from vizsla.encoders.onnx import MODEL, SETTINGS, TOKENIZER, OnnxEncoder
from vizsla.errors import InputError
from vizsla.indexes.flat import FlatIndex
from vizsla.io.atomic import writing_folder

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class QuantisationCheck:
    """What int8 changed on held-out queries.

    Parameters
    ----------
    queries : int
        How many were asked.
    recall, recall_int8 : float
        The share of relevant items among the best `depth`, before and after.
    agreement : float
        The share of the best `depth` that stays among them.
    speed : float
        How many times faster the items were encoded.
    depth : int
        How far down is looked.
    accepted : bool
        Whether the loss is within what was allowed.
    """

    queries: int
    recall: float
    recall_int8: float
    agreement: float
    speed: float
    depth: int
    accepted: bool

    def __str__(self) -> str:
        verdict = "accepted" if self.accepted else "refused"
        return (
            f"int8 {verdict}: R@{self.depth} {self.recall:.4f} → {self.recall_int8:.4f} on {self.queries} queries, "
            f"{self.agreement:.1%} of the best {self.depth} agree, {self.speed:.1f} × as fast"
        )


def quantise(
    encoder: OnnxEncoder,
    path: str | Path,
    queries: Sequence[str],
    items: Sequence[str],
    *,
    relevant: Sequence[Sequence[int]] | None = None,
    depth: int = 10,
    most_loss: float = 0.01,
    threads: int = 1,
    overwrite: bool = False,
) -> tuple[OnnxEncoder, QuantisationCheck]:
    """Write an int8 twin (per-channel dynamic quantisation), try it on held-out queries, and keep it if it holds.

    Returns the int8 encoder, or the given one when recall falls by more than `most_loss`; then nothing is written.

    Parameters
    ----------
    encoder : OnnxEncoder
        The float32 model.
    path : path
        The folder to make.
    queries, items : sequences of str
        Held-out queries, and the items (or a sample of them) to find.
    relevant : sequence of sequences of int, optional
        For each query the positions of the right items; what the float32 model finds first unless given.
    depth : int
        How far down is looked.
    most_loss : float
        How much recall may fall.
    threads : int
        What ONNX Runtime may use.
    overwrite : bool
        Replace a folder that is there already.
    """
    if not len(queries) or not len(items) or (relevant is not None and len(relevant) != len(queries)):
        raise InputError("`queries` and `items` must not be empty, and `relevant` must have an entry a query.")
    with TemporaryDirectory() as trial:
        _write_int8(encoder, Path(trial))
        small = OnnxEncoder(trial, **encoder.options, threads=threads)
        check = _check(encoder, small, queries, items, relevant, depth, most_loss)
        if not check.accepted:
            return encoder, check
        with writing_folder(path, overwrite=overwrite) as folder:
            shutil.copytree(trial, folder, dirs_exist_ok=True)
    return OnnxEncoder(path, **encoder.options, threads=threads), check


def _write_int8(encoder: OnnxEncoder, folder: Path) -> None:
    import_extra("onnx", "Quantising", "onnx")
    tools = import_extra("onnxruntime.quantization", "Quantising", "onnx")
    tools.quantize_dynamic(
        str(encoder.path / MODEL),
        str(folder / MODEL),
        per_channel=True,
        weight_type=tools.QuantType.QInt8,
        op_types_to_quantize=["MatMul"],
    )
    for name in (TOKENIZER, SETTINGS):
        if (encoder.path / name).exists():
            shutil.copyfile(encoder.path / name, folder / name)


def _check(
    full: OnnxEncoder,
    small: OnnxEncoder,
    queries: Sequence[str],
    items: Sequence[str],
    relevant: Sequence[Sequence[int]] | None,
    depth: int,
    most_loss: float,
) -> QuantisationCheck:
    before, slow = _best(full, queries, items, depth)
    after, fast = _best(small, queries, items, depth)
    wanted = before if relevant is None else [np.asarray(row, np.int64) for row in relevant]
    recall, recall_int8 = _recall(before, wanted), _recall(after, wanted)
    holds = recall - recall_int8 <= most_loss
    return QuantisationCheck(len(queries), recall, recall_int8, _recall(after, before), slow / fast, depth, holds)


def _best(encoder: OnnxEncoder, queries: Sequence[str], items: Sequence[str], depth: int) -> tuple[list[Any], float]:
    start = perf_counter()
    rows = encoder.items(items)
    seconds = perf_counter() - start
    found = FlatIndex.build(rows).search(encoder.queries(queries), depth)
    return [found.row(number)[0] for number in range(len(found))], seconds


def _recall(found: Sequence[Any], wanted: Sequence[Any]) -> float:
    shares = [np.isin(right, row).mean() for row, right in zip(found, wanted, strict=True) if len(right)]
    return float(np.mean(shares)) if shares else 1.0
