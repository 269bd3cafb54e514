"""vizsla convert: read a dataset in one format and write it in another."""

from __future__ import annotations

import argparse

from vizsla.cli.options import add_data, open_data

FORMATS = ("beir", "jsonl", "parquet", "trec")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add both ends."""
    add_data(parser)
    parser.add_argument("output", metavar="OUT", help="the folder to write, or the file for jsonl")
    parser.add_argument("--to", default="beir", choices=FORMATS, help="default: beir")


def run(arguments: argparse.Namespace) -> None:
    """Read and write."""
    from vizsla.io.write import write_dataset

    dataset = open_data(arguments)
    write_dataset(dataset, arguments.output, format=arguments.to)
    print(f"{arguments.output}: {dataset!r}")
