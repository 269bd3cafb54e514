"""vizsla adapt: let a click log correct a retriever, without training."""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

from vizsla.cli.options import (
    add_bundling,
    add_half_life,
    add_output,
    add_reading,
    bundling,
    check_output,
    chosen_half_life,
    load_retriever,
    read_clicks,
    share,
)


def run(arguments: argparse.Namespace) -> None:
    """Adapt, save, and say what was chosen."""
    from vizsla.evaluation.plots import Drawing
    from vizsla.methods import pefa as methods

    check_output(arguments)
    if arguments.plot:
        Drawing(arguments.plot)  # refuses a path that is none, before long work and not after it
    start = perf_counter()
    build = getattr(methods, arguments.kind.replace("-", "_"))
    base, options, clicks = load_retriever(arguments.base), _options(arguments), read_clicks(arguments)
    half_life = chosen_half_life(arguments, clicks, lambda part: build(base, part, **options))
    model = build(base, clicks, **options, half_life=half_life)
    model.save(arguments.output, overwrite=arguments.overwrite, bundle_models=bundling(arguments))
    if arguments.plot and model.choice is not None:
        model.choice.plot(arguments.plot)
    chosen = ", ".join(f"{name} {value:.6g}" for name, value in vars(model.settings).items() if _is_number(value))
    seconds = perf_counter() - start
    print(f"{arguments.output}: {len(model.items):,} items, {model.nbytes / 1e6:.1f} MB, {seconds:.1f} s; {chosen}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the base, the clicks, and what the variant chooses."""
    name = parser.get_default("kind")
    parser.add_argument("base", metavar="BASE", help="the retriever's folder")
    parser.add_argument("--clicks", metavar="FILE", required=True, help="query, item, weight; or a whole dataset")
    parser.add_argument("--queries", metavar="FILE", help="query texts, when the clicks name queries by id")
    add_output(parser)
    add_bundling(parser)
    parser.add_argument("--cold", type=share, default=0.5, help="share of queries about items without clicks")
    add_half_life(parser)
    add_reading(parser)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", metavar="FILE", help="draw what was tried: .png, .svg or .pdf")
    if name != "pefa":
        parser.add_argument("--weight", type=_auto(float), default="auto", help="the base's share (default: auto)")
    if name == "pefa-xs":
        parser.add_argument("--calibrated", type=_auto(_yes_or_no), default="auto", help="yes, no or auto")
    if name == "pefa-max":
        parser.add_argument("--margin", type=_auto(float), default="auto", help="in spreads of the base's scores")
        parser.add_argument("--item-weight", type=_auto(float), default="auto", help="item's share of a past query")
    if name == "pefa-xl":
        parser.add_argument("--neighbors", type=_auto(int), default="auto", help="past queries that vote")
        parser.add_argument("--near", type=_auto(float), default="auto", help="least similarity of a vote")
        parser.add_argument("--threshold", type=_auto(float), default="auto", help="votes an item with clicks must get")
        parser.add_argument("--votes", choices=("auto", "mean", "max"), default="auto")
        parser.add_argument(
            "--encoder", metavar="MODEL", help="turns queries into vectors: a folder, or a model's hub id"
        )


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    shared, xl = ("weight", "cold", "seed"), ("neighbors", "near", "threshold", "votes")
    names = (*shared, "calibrated", "margin", "item_weight", *xl)
    options = {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}
    if getattr(arguments, "encoder", None):
        from vizsla.encoders.open import open_encoder

        options["encoder"] = open_encoder(arguments.encoder)
    return options


def _auto(kind: Any) -> Any:
    def read(value: str) -> Any:
        return value if value == "auto" else kind(value)

    read.__name__ = "value"
    return read


def _yes_or_no(value: str) -> bool:
    if value not in ("yes", "no"):
        raise argparse.ArgumentTypeError(f"must be yes, no or auto. Got {value!r}.")
    return value == "yes"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
