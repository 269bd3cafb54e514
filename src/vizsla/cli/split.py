"""vizsla split: hold out clicks to judge by, at random or by time."""

from __future__ import annotations

import argparse

from vizsla.cli.options import add_data, check_output, open_data, share


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data, what is held out, and where both go."""
    add_data(parser)
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="the folder to write, in BEIR's format")
    parser.add_argument("--overwrite", action="store_true", help="replace a folder that is there already")
    parser.add_argument(
        "--held-out", type=float, default=0.1, help="share of the queries, or by time of the clicks (0.1)"
    )
    parser.add_argument(
        "--cold", type=share, default=0.05, help="share of those about items that lose all clicks (0.05)"
    )
    parser.add_argument(
        "--by", choices=("random", "time"), default="random", help="which clicks: at random, or the latest"
    )
    parser.add_argument("--after", metavar="DATE", help="hold out the clicks from then on, such as 2024-05-01")
    parser.add_argument("--seed", type=int, default=0)


def run(arguments: argparse.Namespace) -> None:
    """Split and write: what may be learned from as clicks, what is held out as judgments."""
    from vizsla.data.dataset import Dataset
    from vizsla.io.write import write_dataset

    check_output(arguments)
    dataset = open_data(arguments)
    train, held = dataset.split(
        by="time" if arguments.after else arguments.by, after=arguments.after,
        held_out=arguments.held_out, cold=arguments.cold, seed=arguments.seed,
    )  # fmt: skip
    qrels = {split: held.qrels(split) for split in held.judged_splits}
    both = Dataset(dataset.items, dataset.queries, clicks=train.clicks, qrels=qrels, events=train.events)
    write_dataset(both, arguments.output, overwrite=arguments.overwrite)
    counts = ", ".join(f"{len(held.query_texts(split)[0]):,} {split}" for split in held.judged_splits)
    print(f"{arguments.output}: {train.clicks.nnz:,} clicks to learn from; held-out queries: {counts}")
