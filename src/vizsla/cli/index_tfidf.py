"""vizsla index tfidf: index a catalog by its n-grams."""

from __future__ import annotations

import argparse
from time import perf_counter

from vizsla.cli.options import add_data, add_output, check_output, open_data


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the n-grams and of the rows."""
    add_data(parser)
    add_output(parser)
    parser.add_argument(
        "--kind-shares",
        type=float,
        nargs=3,
        default=(1.0, 1.0, 1.0),
        metavar=("WORDS", "PAIRS", "TRIGRAMS"),
        help="how much words, pairs of words and character trigrams weigh (default: 1 1 1)",
    )
    parser.add_argument("--entries", type=int, metavar="N", help="keep only an item's heaviest n-grams (default: all)")


def run(arguments: argparse.Namespace) -> None:
    """Fit, index, save."""
    from vizsla.methods.tfidf import tfidf

    check_output(arguments)
    start, shares = perf_counter(), tuple(arguments.kind_shares)
    built = tfidf(open_data(arguments), kind_shares=shares, entries=arguments.entries)
    built.save(arguments.output, overwrite=arguments.overwrite)
    seconds, what = perf_counter() - start, f"{built.encoder.dim:,} n-grams, {built.nbytes / 1e6:.1f} MB"
    print(f"{arguments.output}: {len(built.items):,} items, {what}, {seconds:.1f} s")
