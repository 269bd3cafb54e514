"""vizsla index sidr: every item encoded by a trained model, for full parametric search."""

from __future__ import annotations

import argparse
from time import perf_counter

from vizsla._internal.terminal import working
from vizsla.cli.options import add_data, add_output, check_output, load_retriever, open_data, save_model
from vizsla.encoders.sidr import FORMS, SidrEncoder
from vizsla.errors import InputError
from vizsla.methods.sidr.model import sidr


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data, the model, and what becomes of queries and items."""
    add_data(parser)
    add_output(parser)
    parser.add_argument("--model", required=True, metavar="PATH", help="what `vizsla train sidr` made")
    forms = "what a query becomes (default: full); tokens is alpha search, for which no model runs"
    parser.add_argument("--queries-as", choices=FORMS, default="full", help=forms)
    forms = "what an item becomes (default: full); learned is what the model says alone, for alpha search"
    parser.add_argument("--items-as", choices=FORMS, default="full", help=forms)


def sidr_encoder(path: str) -> SidrEncoder:
    """Return the encoder of a trained model; another retriever raises."""
    retriever = load_retriever(path)
    encoder = retriever.encoder
    if not isinstance(encoder, SidrEncoder):
        raise InputError(f"The model must be SiDR's, as `vizsla train sidr` makes it. Got {retriever} in {path}.")
    return encoder


def run(arguments: argparse.Namespace) -> None:
    """Encode, index, save."""
    start = perf_counter()
    check_output(arguments)
    encoder = sidr_encoder(arguments.model).with_forms(queries=arguments.queries_as, items=arguments.items_as)
    with working("building"):
        made = sidr(open_data(arguments), encoder)
    save_model(made, arguments, start)
