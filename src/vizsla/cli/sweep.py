"""vizsla sweep: draw how quality and cost of an XR-Linear model change with its beam or its weights."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from vizsla.cli.options import add_data, add_evaluation, evaluation_options, load_retriever, open_data, write_wanted
from vizsla.errors import InputError

if TYPE_CHECKING:
    from vizsla.methods.xrlinear.model import XrLinear

BEAMS = "1,5,10,15,20,30,50"
WEIGHTS_OF_BITS = {32: "float32", 16: "int16", 8: "int8"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the data, and what is varied."""
    parser.add_argument("artefact", metavar="MODEL")
    add_data(parser)
    varied = parser.add_mutually_exclusive_group()
    varied.add_argument("--beams", default=BEAMS, metavar="NUMBERS", help=f"recall against latency (default: {BEAMS})")
    varied.add_argument("--thresholds", metavar="NUMBERS", help="drop weights up to these sizes: recall against size")
    varied.add_argument("--bits", metavar="NUMBERS", help="store weights in so many bits: 32, 16, 8")
    add_evaluation(parser)
    parser.add_argument("--plot", metavar="FILE", help="draw the curves (.png, .svg, .pdf)")


def run(arguments: argparse.Namespace) -> None:
    """Evaluate the model at every setting, print, and draw."""
    from vizsla.evaluate.sweep import sweep

    setting, systems = _variants(_model(arguments.artefact), arguments)
    result = sweep(setting, systems, open_data(arguments), arguments.split, **evaluation_options(arguments))
    result.show()
    cost = "ms_p50" if setting == "beam" else "bytes"
    write_wanted(
        (arguments.json, result.to_json),
        (arguments.markdown, result.to_markdown),
        (arguments.plot, lambda path: result.plot(path, x=cost)),
    )


def _model(path: str) -> XrLinear:
    from vizsla.methods.xrlinear.model import XrLinear

    model = load_retriever(path)
    if not isinstance(model, XrLinear):
        raise InputError(f"The artefact must be an XR-Linear model. Got kind {model.kind!r} in {path}.")
    return model


def _variants(model: XrLinear, arguments: argparse.Namespace) -> tuple[str, Iterator[tuple[float, XrLinear]]]:
    from vizsla.methods.xrlinear.compact import compact
    from vizsla.methods.xrlinear.prune import prune

    if arguments.bits:
        kinds = [(bits, _weights(bits)) for bits in _numbers("--bits", arguments.bits, int)]
        return "bits", ((bits, compact(model, kind)) for bits, kind in kinds)
    if arguments.thresholds:
        sizes = _numbers("--thresholds", arguments.thresholds, float)
        return "threshold", ((size, prune(model, size)) for size in sizes)
    beams = _numbers("--beams", arguments.beams, int)
    return "beam", ((beam, model.with_effort(int(beam))) for beam in beams)


def _weights(bits: float) -> str:
    if bits not in WEIGHTS_OF_BITS:
        raise InputError(f"`--bits` must be among {', '.join(map(str, WEIGHTS_OF_BITS))}. Got {bits:g}.")
    return WEIGHTS_OF_BITS[int(bits)]


def _numbers(name: str, text: str, kind: Callable[[str], float]) -> list[float]:
    try:
        numbers = [kind(part) for part in text.replace(",", " ").split()]
    except ValueError:
        numbers = []
    if not numbers:
        raise InputError(f"`{name}` must be numbers with commas between them. Got {text!r}.")
    return numbers
