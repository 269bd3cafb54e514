"""vizsla sweep: draw how quality and cost of a retriever change with its effort, or a model's with its weights."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from vizsla.cli.options import add_data, add_reports, load_retriever, open_data, write_wanted
from vizsla.cli.signatures import SignatureOptions
from vizsla.errors import InputError
from vizsla.evaluation import evaluate
from vizsla.evaluation.sweep import sweep, variants
from vizsla.methods.xrlinear.model import XrLinear, prune, quantize

if TYPE_CHECKING:
    from vizsla.base.retriever import Retriever
    from vizsla.data.dataset import Dataset

OPTIONS = SignatureOptions(sweep, evaluate, skip=("k", "name"))
COST_NAMES = ("ms_p50", "ms_p99", "bytes", "bytes_per_item", "scored", "model_calls")
EFFORT_FACTORS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Of the retriever's own effort: what is tried unless told otherwise."""
WEIGHTS_OF_BITS = {32: "float32", 16: "int16", 8: "int8"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the data, and what is varied."""
    parser.add_argument("artifact", metavar="MODEL")
    add_data(parser)
    varied = parser.add_mutually_exclusive_group()
    varied.add_argument(
        "--efforts",
        metavar="NUMBERS",
        help="beams of a tree, items in view of a graph, lists probed: quality against latency (default: a tenth to "
        "four times the retriever's own)",
    )
    varied.add_argument("--thresholds", metavar="NUMBERS", help="drop weights up to these sizes: recall against size")
    varied.add_argument("--bits", metavar="NUMBERS", help="bits of the stored weights: 32, 16, 8")
    argument = "any argument of the function that built it, such as weight or base.k1; built again for each of --values"
    varied.add_argument("--argument", metavar="NAME", help=argument)
    parser.add_argument("--values", metavar="NUMBERS", help="what --argument is set to")
    parser.add_argument("--x", default=None, choices=COST_NAMES, help="the cost that --plot draws over")
    OPTIONS.add_to(parser)
    add_reports(parser)
    parser.add_argument("--plot", metavar="FILE", help="draw the curves (.png, .svg, .pdf)")


def run(arguments: argparse.Namespace) -> None:
    """Evaluate the model at every setting, print, and draw."""
    dataset = open_data(arguments)
    setting, systems = _variants(load_retriever(arguments.artifact), arguments, dataset)
    result = sweep(setting, systems, dataset, **OPTIONS.given(arguments))
    result.show()
    usual = {"effort": "ms_p50", "budget": "model_calls"}.get(setting, "ms_p50" if arguments.argument else "bytes")
    cost = arguments.x or usual
    write_wanted(
        (arguments.json, result.to_json),
        (arguments.markdown, result.to_markdown),
        (arguments.plot, lambda path: result.plot(path, x=cost)),
    )


def _variants(
    retriever: Retriever, arguments: argparse.Namespace, dataset: Dataset
) -> tuple[str, Iterator[tuple[float, Retriever]]]:
    if (arguments.argument is None) != (arguments.values is None):
        raise InputError("`--argument` and `--values` must be given together. Got one of them.")
    if arguments.argument:
        values = [int(one) if one == int(one) else one for one in _numbers("--values", arguments.values, float)]
        return arguments.argument, variants(retriever, arguments.argument, values, dataset)
    if arguments.bits:
        kinds, model = [(bits, _weights(bits)) for bits in _numbers("--bits", arguments.bits, int)], _tree(retriever)
        return "bits", ((bits, quantize(model, kind)) for bits, kind in kinds)
    if arguments.thresholds:
        sizes, model = _numbers("--thresholds", arguments.thresholds, float), _tree(retriever)
        return "threshold", ((size, prune(model, size)) for size in sizes)
    return "effort", _efforts(retriever, arguments.efforts)


def _efforts(retriever: Retriever, wanted: str | None) -> Iterator[tuple[float, Retriever]]:
    effort = retriever.effort
    if effort is None:
        raise InputError(
            f"The retriever must have an effort to vary. Got {retriever!r}, which has none, or parts with unlike ones."
        )
    own = sorted({max(1, round(times * effort)) for times in EFFORT_FACTORS})
    efforts = own if wanted is None else _numbers("--efforts", wanted, int)
    return ((float(number), retriever.with_effort(int(number))) for number in efforts)


def _tree(retriever: Retriever) -> XrLinear:
    if not isinstance(retriever, XrLinear):
        raise InputError(f"The artifact must be an XR-Linear model. Got {retriever!r}.")
    return retriever


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
