"""vizsla export parquet: a retriever's items as a Parquet file of vectors or token weights."""

from __future__ import annotations

import argparse

from vizsla.cli.options import load_retriever
from vizsla.export.parquet import export_parquet


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the artifact and the file."""
    parser.add_argument("index", metavar="INDEX", help="an artifact: dense, pq, jpq, pefa-xs, tokens, tfidf, bm25")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the Parquet file")
    parser.add_argument("--overwrite", action="store_true", help="replace a file that is there already")


def run(arguments: argparse.Namespace) -> None:
    """Write the file."""
    count = export_parquet(load_retriever(arguments.index), arguments.output, overwrite=arguments.overwrite)
    print(f"{arguments.output}: {count:,} items")
