"""vizsla adapt: let a click log correct a retriever, without training."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

from vizsla._internal.terminal import working
from vizsla.cli.options import (
    add_bundling,
    add_output,
    add_reading,
    check_output,
    load_retriever,
    read_clicks,
    save_model,
    with_half_life,
)
from vizsla.cli.signatures import SignatureOptions
from vizsla.encoders.open import open_encoder
from vizsla.evaluation.plots import Drawing
from vizsla.methods.pefa.build import pefa, pefa_max, pefa_xl, pefa_xs

VARIANTS: dict[str, Callable[..., Any]] = {"pefa": pefa, "pefa-xs": pefa_xs, "pefa-max": pefa_max, "pefa-xl": pefa_xl}
OPTIONS = {kind: SignatureOptions(variant, skip=("variant",)) for kind, variant in VARIANTS.items()}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the base, the clicks, and what the variant chooses."""
    kind = parser.get_default("kind")
    parser.add_argument("base", metavar="BASE", help="the retriever's folder")
    parser.add_argument("--clicks", metavar="FILE", required=True, help="query, item, weight; or a whole dataset")
    parser.add_argument("--queries", metavar="FILE", help="query texts, when the clicks name queries by id")
    add_output(parser)
    add_bundling(parser)
    add_reading(parser)
    OPTIONS[kind].add_to(parser)
    parser.add_argument("--plot", metavar="FILE", help="draw what was tried: .png, .svg or .pdf")
    if kind == "pefa-xl":
        model = "turns queries into vectors: a folder, or a model's hub id"
        parser.add_argument("--encoder", metavar="MODEL", help=model)


def run(arguments: argparse.Namespace) -> None:
    """Adapt, save, and say what was chosen."""
    check_output(arguments)
    if arguments.plot:
        Drawing(arguments.plot)  # refuses a path that is none, before long work and not after it
    start, options = perf_counter(), OPTIONS[arguments.kind].given(arguments)
    if encoder := getattr(arguments, "encoder", None):
        options["encoder"] = open_encoder(encoder)
    build = partial(VARIANTS[arguments.kind], load_retriever(arguments.base))
    clicks = read_clicks(arguments)
    options = with_half_life(options, clicks, build)
    with working("adapting"):
        model = build(clicks, **options)
    chosen = ", ".join(f"{name} {value:.6g}" for name, value in vars(model.settings).items() if _is_number(value))
    save_model(model, arguments, start, more=f"; {chosen}")
    if arguments.plot and model.choice is not None:
        model.choice.plot(arguments.plot)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
