"""vizsla train sidr: a transformer that weighs tokens, trained on clicks over a token index."""

from __future__ import annotations

import argparse
from time import perf_counter

from vizsla._internal.terminal import working
from vizsla.cli.options import add_data, add_output, check_output, open_data, save_model
from vizsla.cli.signatures import SignatureOptions
from vizsla.methods.sidr.quantize import quantize_sidr
from vizsla.methods.sidr.settings import SidrSettings
from vizsla.methods.sidr.train_sidr import train_sidr
from vizsla.methods.tokens.model import tokens
from vizsla.text.wordpiece import WordPiece

OPTIONS = SignatureOptions(train_sidr, SidrSettings, skip=("teacher_share",))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data, the model to begin with, and how to learn."""
    add_data(parser)
    add_output(parser)
    parser.add_argument("--model", required=True, metavar="FOLDER", help="a BERT-like model with its tokenizer")
    parser.add_argument("--int8", action="store_true", help="store int8 matrices, if recall on the clicks holds")
    OPTIONS.add_to(parser)


def run(arguments: argparse.Namespace) -> None:
    """Train and save."""
    check_output(arguments)
    start, dataset, options = perf_counter(), open_data(arguments), OPTIONS.given(arguments)
    seed = {name: options[name] for name in ("seed",) if name in options}
    with working("training"):
        base = tokens(dataset, analyzer=WordPiece.open(arguments.model), epochs=0, **seed)
        learned = train_sidr(base, dataset, arguments.model, **options)
    if arguments.int8:
        learned, check = quantize_sidr(learned, dataset, **seed)
        print(check)
    save_model(learned, arguments, start)
