"""vizsla split: hold out clicks to judge by, at random or by time."""

from __future__ import annotations

import argparse

from vizsla.cli.options import add_data, check_output, open_data
from vizsla.cli.signatures import SignatureOptions
from vizsla.data.dataset import Dataset
from vizsla.io.write import write_dataset

OPTIONS = SignatureOptions(Dataset.split, metavars={"after": "DATE"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data, what is held out, and where both go."""
    add_data(parser)
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="the folder to write, in BEIR's format")
    parser.add_argument("--overwrite", action="store_true", help="replace a folder that is there already")
    OPTIONS.add_to(parser)


def run(arguments: argparse.Namespace) -> None:
    """Split and write: what may be learned from as clicks, what is held out as judgments."""
    check_output(arguments)
    dataset = open_data(arguments)
    options = OPTIONS.given(arguments)
    train, held = dataset.split(**options | ({"by": "time"} if "after" in options else {}))
    qrels = {split: held.qrels(split) for split in held.judged_splits}
    both = Dataset(dataset.items, dataset.queries, clicks=train.clicks, qrels=qrels, events=train.events)
    write_dataset(both, arguments.output, overwrite=arguments.overwrite)
    counts = ", ".join(f"{len(held.query_texts(split)[0]):,} {split}" for split in held.judged_splits)
    print(f"{arguments.output}: {train.clicks.nnz:,} clicks to learn from; held-out queries: {counts}")
