"""vizsla train tokens: what the tokens of a query weigh, and call to mind, learned from clicks."""

from __future__ import annotations

import argparse
from time import perf_counter

from vizsla.cli.index_tokens import add_building, built
from vizsla.cli.options import (
    add_data,
    add_half_life,
    add_output,
    check_output,
    chosen_half_life,
    load_retriever,
    open_data,
)
from vizsla.errors import InputError

OPTIONS = ("rate", "negatives", "temperature", "expansions", "batch", "seed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data, the retriever to begin with, and how to learn."""
    add_data(parser)
    add_output(parser)
    parser.add_argument("--base", metavar="PATH", help="a saved token retriever to learn on; without it one is built")
    add_building(parser)
    parser.add_argument("--epochs", default="auto", help="passes over the clicks (default: chosen on held-out clicks)")
    parser.add_argument("--rate", type=float, default=0.1, help="the step (default: 0.1)")
    parser.add_argument("--negatives", type=int, default=64, help="found items against each clicked one (default: 64)")
    parser.add_argument("--temperature", type=float, default=1.0, help="what scores are divided by (default: 1)")
    parser.add_argument("--expansions", type=int, default=64, help="most tokens that one calls to mind (default: 64)")
    parser.add_argument("--batch", type=int, default=128, help="clicks between two steps (default: 128)")
    add_half_life(parser)


def run(arguments: argparse.Namespace) -> None:
    """Train and save."""
    from vizsla.methods.tokens.model import TokenRetriever
    from vizsla.methods.tokens.train_tokens import train_tokens

    check_output(arguments)
    start = perf_counter()
    base = built(arguments) if arguments.base is None else load_retriever(arguments.base)
    if not isinstance(base, TokenRetriever):
        raise InputError(f"`--base` must be a token retriever. Got kind {base.kind!r}.")
    options = {name: getattr(arguments, name) for name in OPTIONS}
    data, epochs = open_data(arguments), _whole(arguments.epochs)
    half_life = chosen_half_life(arguments, data, lambda part: train_tokens(base, part, epochs=epochs, **options))
    learned = train_tokens(base, data, epochs=epochs, half_life=half_life, **options)
    learned.save(arguments.output, overwrite=arguments.overwrite)
    seconds = perf_counter() - start
    print(f"{arguments.output}: {len(learned.items):,} items, {learned.nbytes / 1e6:.1f} MB, {seconds:.1f} s")
    print(f"expansions: {len(learned.encoder.targets):,}")


def _whole(given: str) -> int | str:
    if given == "auto":
        return given
    try:
        return int(given)
    except ValueError:
        raise InputError(f'`--epochs` must be a whole number above 0, or "auto". Got {given!r}.') from None
