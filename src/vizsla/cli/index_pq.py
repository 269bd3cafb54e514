"""vizsla index pq: code the vectors of a dense model."""

from __future__ import annotations

import argparse
from time import perf_counter

from vizsla._internal.terminal import working
from vizsla.cli.options import add_bundling, add_output, load_retriever, save_model
from vizsla.cli.signatures import SignatureOptions
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.methods.pq import pq

OPTIONS = SignatureOptions(PqIndex.build)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the sizes, and where the coded model goes."""
    parser.add_argument("model", metavar="MODEL", help="the folder of a dense model, or of PEFA-XS over one")
    add_output(parser)
    add_bundling(parser)
    OPTIONS.add_to(parser)


def run(arguments: argparse.Namespace) -> None:
    """Load, code, save, and say how much smaller it became."""
    start, model = perf_counter(), load_retriever(arguments.model)
    with working("building"):
        coded = pq(model, **OPTIONS.given(arguments))  # type: ignore[type-var]
    before, after = model.index.nbytes, coded.index.nbytes  # type: ignore[attr-defined]
    save_model(coded, arguments, start, f"vectors of {before / 1e6:.1f} MB became codes of {after / 1e6:.1f} MB")
