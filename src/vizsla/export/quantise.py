"""Int8 weights for an ONNX encoder, after a look at what they cost."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from vizsla.encoders.onnx import MODEL, SETTINGS, TOKENIZER, OnnxEncoder
from vizsla.export.int8_matrices import quantise_file
from vizsla.export.quantisation_check import LOSS, QuantisationCheck, check_quantisation
from vizsla.io.atomic import writing_folder


def quantise(
    encoder: OnnxEncoder,
    path: str | Path,
    queries: Sequence[str],
    items: Sequence[str],
    *,
    relevant: Sequence[Sequence[int]] | None = None,
    depth: int = 10,
    most_loss: float = LOSS,
    per_channel: bool = True,
    overwrite: bool = False,
) -> tuple[OnnxEncoder, QuantisationCheck]:
    """Write an int8 twin, try it on held-out queries, and keep it if it holds.

    Returns the int8 encoder, or the given one when recall falls by more than `most_loss`; then nothing is written. The
    check says which, and how much was lost.

    Parameters
    ----------
    encoder : OnnxEncoder
        The float32 model.
    path : path
        The folder to make.
    queries, items, relevant, depth, most_loss
        As in `check_quantisation`.
    per_channel : bool
        A scale for every column of a weight matrix. One for the whole matrix is no faster, and loses several times as
        much.
    overwrite : bool
        Replace a folder that is there already.
    """
    rules = {"relevant": relevant, "depth": depth, "most_loss": most_loss}
    with TemporaryDirectory() as trial:
        write_int8(encoder, Path(trial), per_channel=per_channel)
        small = OnnxEncoder(trial, threads=encoder.threads)
        check = check_quantisation(encoder, small, queries, items, **rules)  # type: ignore[arg-type]
        if not check.accepted:
            return encoder, check
        with writing_folder(path, overwrite=overwrite) as folder:
            shutil.copytree(trial, folder, dirs_exist_ok=True)
    return OnnxEncoder(path, threads=encoder.threads), check


def write_int8(encoder: OnnxEncoder, folder: Path, *, per_channel: bool = True) -> None:
    """Write the model with int8 matrices to a folder that is there, unchecked; `quantise` checks it."""
    quantise_file(encoder.path / MODEL, folder / MODEL, per_channel=per_channel)
    shutil.copyfile(encoder.path / TOKENIZER, folder / TOKENIZER)
    encoder.settings.write(folder / SETTINGS)
