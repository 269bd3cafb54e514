"""vizsla index tfidf: index a catalog by its n-grams."""

from __future__ import annotations

import argparse
from time import perf_counter

from vizsla._internal.terminal import working
from vizsla.cli.options import add_data, add_output, check_output, field_weights, open_data, save_model
from vizsla.cli.signatures import SignatureOptions
from vizsla.methods.tfidf import tfidf

KIND_SHARES = {"kind_shares": ("WORDS", "PAIRS", "TRIGRAMS")}
OPTIONS = SignatureOptions(tfidf, metavars=KIND_SHARES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the n-grams and of the rows."""
    add_data(parser)
    add_output(parser)
    OPTIONS.add_to(parser)
    parser.set_defaults(weighs_fields=True)


def run(arguments: argparse.Namespace) -> None:
    """Fit, index, save."""
    check_output(arguments)
    start = perf_counter()
    with working("building"):
        built = tfidf(open_data(arguments), **OPTIONS.given(arguments) | field_weights(arguments))
    save_model(built, arguments, start, f"{built.encoder.dim:,} n-grams, {built.nbytes / 1e6:.1f} MB")
