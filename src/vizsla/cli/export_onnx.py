"""vizsla export onnx: a model for ONNX Runtime, with float32 or checked int8 weights."""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from vizsla.cli.options import add_data, add_output, check_output, open_data
from vizsla.errors import InputError

if TYPE_CHECKING:
    from vizsla.encoders.onnx import OnnxEncoder

FAILED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, its prompts, and how int8 is checked."""
    parser.add_argument("model", metavar="MODEL", help="a sentence-transformers hub id or folder, or an ONNX folder")
    add_output(parser)
    parser.add_argument("--cross-encoder", action="store_true", help="MODEL reads a query and an item together")
    parser.add_argument("--query-prompt", metavar="TEXT", help="put before every query, and remembered")
    parser.add_argument("--item-prompt", metavar="TEXT", help="put before every item, and remembered")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="cut texts there (default: the model's limit)")
    parser.add_argument("--int8", action="store_true", help="int8 weights, if a check on --data's queries allows them")
    add_data(parser, positional=False)
    parser.add_argument("--split", help="whose queries to check with (default: the first that is not train)")
    parser.add_argument("--check-queries", type=int, default=500, metavar="N", help="at most (default: 500)")
    parser.add_argument("--check-items", type=int, default=5000, metavar="N", help="searched among (default: 5000)")
    parser.add_argument("--depth", type=int, default=10, metavar="K", help="recall at K is compared (default: 10)")
    parser.add_argument("--most-loss", type=float, default=0.01, metavar="X", help="recall it may lose (default: 0.01)")
    parser.add_argument("--per-tensor", action="store_true", help="one scale a matrix: loses more, is no faster")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0, help="fixes which queries and items are drawn (default: 0)")


def run(arguments: argparse.Namespace) -> int:
    """Export; return 1 where int8 was refused."""
    check_output(arguments)
    output = Path(arguments.output)
    if arguments.int8 and not arguments.data:
        raise InputError("`--data` must be given with --int8: its queries show what is lost. Got none.")
    if arguments.cross_encoder:
        from vizsla.cli.export_pairs import export_pairs

        return export_pairs(arguments)
    if not arguments.int8:
        _say(_float32(arguments, output), "float32")
        return 0
    with TemporaryDirectory(dir=output.absolute().parent, prefix=f".{output.name}.") as trial:
        return _checked(_float32(arguments, Path(trial) / "float32"), arguments)


def _float32(arguments: argparse.Namespace, folder: Path) -> OnnxEncoder:
    """Return the model as an ONNX folder at `folder`."""
    from vizsla.encoders.onnx import MODEL, OnnxEncoder
    from vizsla.encoders.sentence import SentenceEncoder
    from vizsla.export.onnx import copy_onnx, export_onnx

    names = ("query_prompt", "item_prompt", "max_tokens")
    options = {name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None}
    if (Path(arguments.model) / MODEL).exists():
        given = OnnxEncoder(arguments.model, threads=arguments.threads, **options)
        return copy_onnx(given, folder, overwrite=arguments.overwrite)
    model = SentenceEncoder(arguments.model, **options)
    return export_onnx(model, folder, overwrite=arguments.overwrite, threads=arguments.threads)


def _checked(full: OnnxEncoder, arguments: argparse.Namespace) -> int:
    """Write int8 if it holds, float32 otherwise, and say which."""
    from vizsla.export.checks import check_sample
    from vizsla.export.int8 import quantize
    from vizsla.export.onnx import copy_onnx

    sizes = {"queries": arguments.check_queries, "items": arguments.check_items, "seed": arguments.seed}
    sample = check_sample(open_data(arguments), split=arguments.split, **sizes)
    rules = {"depth": arguments.depth, "most_loss": arguments.most_loss, "per_channel": not arguments.per_tensor}
    found, check = quantize(full, arguments.output, *sample[:2], relevant=sample.relevant, overwrite=True, **rules)
    print(check)
    if check.accepted:
        _say(found, "int8")
        return 0
    _say(copy_onnx(full, arguments.output, overwrite=True), "float32, since int8 was refused")
    return FAILED


def _say(encoder: OnnxEncoder, what: str) -> None:
    size = sum(file.stat().st_size for file in encoder.path.iterdir()) / 1e6
    print(f"{encoder.path}: {encoder.dim} dimensions, {what}, {size:.1f} MB")
