"""vizsla index completion: titles and clicked queries, to complete what is typed."""

from __future__ import annotations

import argparse

from vizsla._internal.terminal import working
from vizsla.cli.options import add_data, add_output, check_output, open_data
from vizsla.text.completion import HALF_LIFE_DAYS, Completer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data and how fast clicks lose weight."""
    add_data(parser)
    add_output(parser)
    half_life = f"days after which a click counts half (default: {HALF_LIFE_DAYS:g})"
    parser.add_argument("--half-life-days", type=float, default=HALF_LIFE_DAYS, metavar="DAYS", help=half_life)


def run(arguments: argparse.Namespace) -> None:
    """Read and save."""
    check_output(arguments)
    with working("reading"):
        completer = Completer.of(open_data(arguments), half_life_days=arguments.half_life_days)
    completer.save(arguments.output, overwrite=arguments.overwrite)
    print(f"{arguments.output}: {len(completer):,} entries")
