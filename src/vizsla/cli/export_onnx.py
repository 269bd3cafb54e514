"""vizsla export onnx: a model for ONNX Runtime, with float32 or checked int8 weights."""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from vizsla.cli.export_pairs import EXPORT, RULES, SAMPLE_OPTIONS, export_pairs
from vizsla.cli.options import add_data, add_output, check_output, open_data
from vizsla.cli.signatures import SignatureOptions
from vizsla.encoders.onnx import MODEL as ONNX
from vizsla.encoders.onnx import OnnxEncoder
from vizsla.encoders.sentence import SentenceEncoder
from vizsla.errors import InputError
from vizsla.export.checks import check_sample
from vizsla.export.int8 import quantize
from vizsla.export.onnx import copy_onnx, export_onnx

MODEL = SignatureOptions(SentenceEncoder, only=("query_prompt", "item_prompt", "max_tokens"))
EXIT_CHECK_FAILED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, its prompts, and how int8 is checked."""
    parser.add_argument("model", metavar="MODEL", help="a sentence-transformers hub id or folder, or an ONNX folder")
    add_output(parser)
    parser.add_argument("--cross-encoder", action="store_true", help="MODEL reads a query and an item together")
    MODEL.add_to(parser)
    parser.add_argument("--int8", action="store_true", help="int8 weights, if a check on --data's queries allows them")
    add_data(parser, positional=False)
    SAMPLE_OPTIONS.add_to(parser)
    RULES.add_to(parser)
    EXPORT.add_to(parser)


def run(arguments: argparse.Namespace) -> int:
    """Export; return 1 where int8 was refused."""
    check_output(arguments)
    output = Path(arguments.output)
    if arguments.int8 and not arguments.data:
        raise InputError("`--data` must be given with --int8: its queries show what is lost. Got none.")
    if arguments.cross_encoder:
        return export_pairs(arguments)
    if not arguments.int8:
        _say(_float32(arguments, output), "float32")
        return 0
    with TemporaryDirectory(dir=output.absolute().parent, prefix=f".{output.name}.") as trial:
        return _checked(_float32(arguments, Path(trial) / "float32"), arguments)


def _float32(arguments: argparse.Namespace, folder: Path) -> OnnxEncoder:
    """Return the model as an ONNX folder at `folder`."""
    options, threads = MODEL.given(arguments), EXPORT.given(arguments)
    if (Path(arguments.model) / ONNX).exists():
        return copy_onnx(OnnxEncoder(arguments.model, **options, **threads), folder, overwrite=arguments.overwrite)
    model = SentenceEncoder(arguments.model, **options)
    return export_onnx(model, folder, overwrite=arguments.overwrite, **threads)


def _checked(full: OnnxEncoder, arguments: argparse.Namespace) -> int:
    """Write int8 if it holds, float32 otherwise, and say which."""
    sample, options = check_sample(open_data(arguments), **SAMPLE_OPTIONS.given(arguments)), RULES.given(arguments)
    found, check = quantize(full, arguments.output, *sample[:2], relevant=sample.relevant, overwrite=True, **options)
    print(check)
    if check.accepted:
        _say(found, "int8")
        return 0
    _say(copy_onnx(full, arguments.output, overwrite=True), "float32, since int8 was refused")
    return EXIT_CHECK_FAILED


def _say(encoder: OnnxEncoder, what: str) -> None:
    size = sum(file.stat().st_size for file in encoder.path.iterdir()) / 1e6
    print(f"{encoder.path}: {encoder.dim} dimensions, {what}, {size:.1f} MB")
