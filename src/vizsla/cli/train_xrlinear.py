"""vizsla train xrlinear: a tree of items with a sparse linear matcher at every node."""

from __future__ import annotations

import argparse
from time import perf_counter

from vizsla._internal.terminal import working
from vizsla.cli.index_tfidf import KIND_SHARES
from vizsla.cli.options import add_data, add_output, check_output, open_data, save_model, with_half_life
from vizsla.cli.signatures import SignatureOptions
from vizsla.methods.xrlinear.build import xrlinear
from vizsla.methods.xrlinear.estimate import estimate_xrlinear
from vizsla.text.ngrams import KINDS, NgramTfidf

OPTIONS = SignatureOptions(xrlinear, metavars=KIND_SHARES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data, and how to learn."""
    add_data(parser)
    add_output(parser)
    OPTIONS.add_to(parser)
    parser.add_argument("--estimate", action="store_true", help="only say how large it will be, and the CPU seconds")


def run(arguments: argparse.Namespace) -> None:
    """Train and save, or say what it would take."""
    if arguments.estimate:
        print(estimate_xrlinear(open_data(arguments), **OPTIONS.given(arguments)))
        return
    check_output(arguments)
    start, data = perf_counter(), open_data(arguments)
    options = with_half_life(OPTIONS.given(arguments), data, xrlinear)
    with working("training"):
        model = xrlinear(data, **options)
    save_model(model, arguments, start)
    if isinstance(model.encoder, NgramTfidf):
        shares = zip(KINDS, model.encoder.shares, strict=True)
        print("features: " + ", ".join(f"{kind}s {share:g}" for kind, share in shares if share))
    print(f"click weights: {model.training_queries.click_weights}")
