"""vizsla convert dataset: read a dataset in one format and write it in another."""

from __future__ import annotations

import argparse

from vizsla.cli.options import add_data, open_data
from vizsla.cli.signatures import SignatureOptions
from vizsla.io.write import write_dataset

OPTIONS = SignatureOptions(write_dataset, only=("format",), names={"format": "to"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add both ends."""
    add_data(parser)
    parser.add_argument("output", metavar="OUT", help="the folder to write, or the file for jsonl")
    OPTIONS.add_to(parser)


def run(arguments: argparse.Namespace) -> None:
    """Read and write."""
    dataset = open_data(arguments)
    write_dataset(dataset, arguments.output, **OPTIONS.given(arguments))
    print(f"{arguments.output}: {dataset!r}")
