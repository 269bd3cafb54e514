"""vizsla train bi-encoder: fine-tune a transformer that encodes queries and items."""

from __future__ import annotations

import argparse
from time import perf_counter

from vizsla._internal.terminal import working
from vizsla.cli.options import add_data, add_output, load_retriever, open_data
from vizsla.cli.signatures import SignatureOptions
from vizsla.cli.training_line import TrainingLine
from vizsla.errors import InputError
from vizsla.methods.bi_encoder import BiEncoderSettings, train_bi_encoder

OPTIONS = SignatureOptions(train_bi_encoder, BiEncoderSettings)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is trained, on what, and how."""
    add_data(parser)
    parser.add_argument("--model", required=True, help="the encoder to begin with: a hub id or a folder")
    add_output(parser)
    parser.add_argument("--retriever", metavar="FOLDER", help="finds the hard negatives (default: BM25)")
    parser.add_argument("--teacher", metavar="FOLDER", help="a retriever to imitate, with --share below 1")
    OPTIONS.add_to(parser)


def run(arguments: argparse.Namespace) -> None:
    """Train, write the encoder, and say how it went; Ctrl-C keeps the best so far."""
    if arguments.overwrite:
        raise InputError("`--overwrite` must be left out: a trained model is written to a new folder. Got it.")
    start = perf_counter()
    parts = {name: load_retriever(path) for name in ("retriever", "teacher") if (path := getattr(arguments, name))}
    options = OPTIONS.given(arguments) | parts
    data = open_data(arguments)
    with working("training") as show:
        line = TrainingLine(show, "nDCG@10")
        encoder = train_bi_encoder(data, arguments.model, arguments.output, watch=line, **options)
    print(f"{arguments.output}: {encoder.dim} dimensions, {perf_counter() - start:.1f} s")
    if line.held_out:
        print(f"held-out nDCG@10: {line.held_out[0]:.4f} to {max(line.held_out):.4f}")
    print(f"search with it: vizsla index dense DATA --encoder {arguments.output} -o OUT")
