"""vizsla train dssm: learn vectors of n-grams from clicks, without a transformer."""

from __future__ import annotations

import argparse
from time import perf_counter

from vizsla._internal.terminal import working
from vizsla.cli.options import add_data, add_output, check_output, load_retriever, open_data
from vizsla.cli.signatures import SignatureOptions
from vizsla.cli.training_line import TrainingLine
from vizsla.methods.dssm import DssmSettings, train_dssm

OPTIONS = SignatureOptions(train_dssm, DssmSettings)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is learned from, and how."""
    add_data(parser)
    add_output(parser)
    parser.add_argument("--retriever", metavar="FOLDER", help="finds the hard negatives (default: BM25)")
    OPTIONS.add_to(parser)


def run(arguments: argparse.Namespace) -> None:
    """Train, save the encoder, and say how it went; Ctrl-C keeps the best so far."""
    check_output(arguments)
    start = perf_counter()
    parts = {"retriever": load_retriever(arguments.retriever)} if arguments.retriever else {}
    data, options = open_data(arguments), OPTIONS.given(arguments) | parts
    with working("training") as show:
        line = TrainingLine(show, "nDCG@10")
        encoder = train_dssm(data, watch=line, **options)
    encoder.save(arguments.output, overwrite=arguments.overwrite)
    print(
        f"{arguments.output}: {encoder.dim} dimensions, {encoder.nbytes / 1e6:.1f} MB, {perf_counter() - start:.1f} s"
    )
    if line.held_out:
        print(f"held-out nDCG@10: {line.held_out[0]:.4f} to {max(line.held_out):.4f}")
    print(f"search with it: vizsla index dense DATA --encoder {arguments.output} -o OUT")
