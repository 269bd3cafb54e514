"""vizsla train tokens: learn weights and expansions of query tokens from clicks."""

from __future__ import annotations

import argparse
from time import perf_counter

from vizsla._internal.terminal import working
from vizsla.cli.index_tokens import add_building, built
from vizsla.cli.options import add_data, add_output, check_output, load_retriever, open_data, save_model, with_half_life
from vizsla.cli.signatures import SignatureOptions
from vizsla.errors import InputError
from vizsla.methods.tokens.model import TokenRetriever
from vizsla.methods.tokens.train_tokens import train_tokens

OPTIONS = SignatureOptions(train_tokens)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data, the retriever to begin with, and how to learn."""
    add_data(parser)
    add_output(parser)
    parser.add_argument("--base", metavar="PATH", help="a saved token retriever to learn on; without it one is built")
    add_building(parser)
    OPTIONS.add_to(parser)


def run(arguments: argparse.Namespace) -> None:
    """Train and save."""
    check_output(arguments)
    start = perf_counter()
    base = built(arguments) if arguments.base is None else load_retriever(arguments.base)
    if not isinstance(base, TokenRetriever):
        raise InputError(f"`--base` must be a token retriever. Got kind {base.kind!r}.")
    data = open_data(arguments)
    options = with_half_life(OPTIONS.given(arguments), data, lambda part, **how: train_tokens(base, part, **how))
    with working("training"):
        learned = train_tokens(base, data, **options)
    save_model(learned, arguments, start)
    print(f"expansions: {len(learned.encoder.targets):,}")
