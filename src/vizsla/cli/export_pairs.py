"""vizsla export onnx --cross-encoder: a cross-encoder for ONNX Runtime, in float32 or checked int8."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from vizsla.cli.options import open_data
from vizsla.cli.signatures import SignatureOptions
from vizsla.errors import InputError
from vizsla.export.checks import check_sample
from vizsla.export.int8 import quantize
from vizsla.export.onnx import export_onnx
from vizsla.export.pairs import export_pair_model, quantize_pair_model
from vizsla.io.atomic import writing_folder
from vizsla.methods.bm25 import bm25
from vizsla.scorers.pair_models import OnnxPairModel, TorchPairModel

SAMPLE_OPTIONS = SignatureOptions(check_sample, names={"queries": "check_queries", "items": "check_items"})
RULES = SignatureOptions(quantize, only=("depth", "max_loss", "per_channel"))
EXPORT = SignatureOptions(export_onnx, only=("threads",))
CANDIDATES_PER_QUERY = 30
"""What BM25 finds among the drawn items, for both models to order."""
EXIT_CHECK_FAILED = 1


def export_pairs(arguments: argparse.Namespace) -> int:
    """Export; with --int8, float32 is written where the check refuses."""
    output = Path(arguments.output)
    for name in ("query_prompt", "item_prompt"):
        if hasattr(arguments, name):
            raise InputError(f"`--{name.replace('_', '-')}` must be left out: a cross-encoder has no prompts. Got one.")
    if hasattr(arguments, "per_channel"):
        column = "a cross-encoder's matrices have a scale per column"
        raise InputError(f"`--no-per-channel` must be left out: {column}. Got it.")
    if not arguments.int8:
        _say(_float32(arguments, output), "float32")
        return 0
    with TemporaryDirectory(dir=output.absolute().parent, prefix=f".{output.name}.") as trial:
        return _checked(arguments, _float32(arguments, Path(trial) / "float32"))


def _float32(arguments: argparse.Namespace, folder: Path) -> OnnxPairModel:
    model = TorchPairModel(arguments.model, max_tokens=getattr(arguments, "max_tokens", None))
    return export_pair_model(model, folder, overwrite=arguments.overwrite, **EXPORT.given(arguments))


def _checked(arguments: argparse.Namespace, full: OnnxPairModel) -> int:
    """Write int8 if it holds, float32 otherwise, and say which."""
    sample = check_sample(open_data(arguments), **SAMPLE_OPTIONS.given(arguments))
    lists, relevant = candidate_lists(sample.queries, sample.items, sample.relevant)
    rules = RULES.given(arguments) | {"overwrite": True}
    texts = [[sample.items[number] for number in row] for row in lists]
    found, check = quantize_pair_model(full, arguments.output, sample.queries, texts, relevant=relevant, **rules)
    print(check)
    if check.accepted:
        _say(found, "int8")
        return 0
    with writing_folder(arguments.output, overwrite=True) as folder:
        shutil.copytree(full.path, folder, dirs_exist_ok=True)
    _say(type(full)(arguments.output), "float32, since int8 was refused")
    return EXIT_CHECK_FAILED


def candidate_lists(
    queries: list[str], items: list[str], relevant: list[list[int]] | None
) -> tuple[list[list[int]], list[list[int]] | None]:
    """Return what BM25 finds for each query, the right items always among it, and the places of these."""
    found = bm25(items)(queries, CANDIDATES_PER_QUERY)
    rows = [found.items[found.offsets[at] : found.offsets[at + 1]].tolist() for at in range(len(queries))]
    if relevant is None:
        return [row or [0] for row in rows], None
    lists = [list(dict.fromkeys([*right, *row])) for right, row in zip(relevant, rows, strict=True)]
    return lists, [list(range(len(right))) for right in relevant]


def _say(model: OnnxPairModel, what: str) -> None:
    size = sum(file.stat().st_size for file in model.path.iterdir()) / 1e6
    print(f"{model.path}: cross-encoder, {what}, {size:.1f} MB")
