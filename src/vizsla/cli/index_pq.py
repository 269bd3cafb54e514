"""vizsla index pq: code the vectors of a dense model."""

from __future__ import annotations

import argparse
from time import perf_counter

from vizsla.cli.options import add_bundling, add_output, bundling, load_retriever

CODING = ("bytes", "bits", "opq", "memory_mb")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the sizes, and where the coded model goes."""
    parser.add_argument("model", metavar="MODEL", help="the folder of a dense model, or of PEFA-XS over one")
    add_output(parser)
    add_bundling(parser)
    add_coding(parser)
    parser.add_argument("--rounds", type=int, metavar="N", help="how often rotation and codes are learned in turn")
    parser.add_argument("--threads", type=int, default=1, help="threads that learn and code (default: 1)")
    parser.add_argument("--seed", type=int, default=0, help="fixes the sample that is learned from (default: 0)")


def add_coding(parser: argparse.ArgumentParser, prefix: str = "") -> None:
    """Add how small and how fast the codes are."""
    parser.add_argument("--bytes", type=int, metavar="N", help=f"{prefix}bytes an item, often 8 to 96 (default: 32)")
    parser.add_argument("--bits", type=int, choices=[8, 4], help=f"{prefix}bits of a code; 4 is faster (default: 8)")
    parser.add_argument("--opq", action=argparse.BooleanOptionalAction, help=f"{prefix}learn a rotation (default: yes)")
    parser.add_argument("--memory-mb", type=int, metavar="N", help=f"{prefix}most memory to build with (default: 1024)")


def run(arguments: argparse.Namespace) -> None:
    """Load, code, save, and say how much smaller it became."""
    from vizsla.methods.pq import pq

    start, names = perf_counter(), (*CODING, "rounds", "threads", "seed")
    options = {name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None}
    model = load_retriever(arguments.model)
    coded = pq(model, **options)  # type: ignore[type-var]
    coded.save(arguments.output, overwrite=arguments.overwrite, bundle_models=bundling(arguments))
    before, after = model.index.nbytes, coded.index.nbytes  # type: ignore[attr-defined]
    what = f"{len(coded.items):,} items, vectors of {before / 1e6:.1f} MB became codes of {after / 1e6:.1f} MB"
    print(f"{arguments.output}: {what}, {perf_counter() - start:.1f} s")
