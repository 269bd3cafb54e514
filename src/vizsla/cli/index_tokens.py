"""vizsla index tokens: binary token lists, which never go stale."""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import TYPE_CHECKING

from vizsla.cli.options import add_data, add_output, check_output, open_data
from vizsla.errors import InputError

if TYPE_CHECKING:
    from vizsla.data.dataset import Dataset
    from vizsla.methods.tokens.model import TokenRetriever
    from vizsla.text.analyzers import Analyzer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data, and how it is indexed."""
    add_data(parser)
    add_output(parser)
    add_building(parser)


def add_building(parser: argparse.ArgumentParser) -> None:
    """Add how texts become tokens, and how much length counts."""
    parser.add_argument("--vocabulary", metavar="PATH", help="a vocab.txt, a tokenizer.json, or a model's folder")
    parser.add_argument("--learn-vocabulary", type=int, metavar="SIZE", help="learn so many tokens from the texts")
    parser.add_argument("--language", metavar="LANGUAGES", help="stop words and stems: auto, or names: english,german")
    parser.add_argument("--cased", action="store_true", help="keep capitals and accents (for a vocab.txt, or to learn)")
    parser.add_argument("--b", default="auto", help="how much length counts, 0 to 1 (default: as clicks say, or 0.5)")
    parser.add_argument("--seed", type=int, default=0)


def built(arguments: argparse.Namespace) -> TokenRetriever:
    """Build the retriever that the arguments ask for."""
    from vizsla.methods.tokens.model import tokens

    if arguments.vocabulary and arguments.learn_vocabulary:
        raise InputError("`--vocabulary` must be left out when one is learned. Got both.")
    if arguments.language and (arguments.vocabulary or arguments.learn_vocabulary):
        raise InputError("`--language` must be left out where a vocabulary says how words are cut. Got both.")
    data = open_data(arguments)
    how = _analyzer(arguments, data)
    return tokens(data, analyzer=how, b=_number(arguments.b), epochs=0, seed=arguments.seed)


def _analyzer(arguments: argparse.Namespace, data: Dataset) -> Analyzer | None:
    """Return how texts become tokens, None for plain words."""
    from vizsla.text.analyzers import AnyLanguage
    from vizsla.text.wordpiece import WordPiece

    if arguments.language:
        return AnyLanguage.asked_for(arguments.language)
    if arguments.vocabulary:
        return WordPiece.open(arguments.vocabulary, lower=False if arguments.cased else None)
    if arguments.learn_vocabulary:
        texts = (item.default_text() for item in data.items)
        return WordPiece.train(texts, size=arguments.learn_vocabulary, lower=not arguments.cased)
    return None


def run(arguments: argparse.Namespace) -> None:
    """Build and save."""
    check_output(arguments)
    start = perf_counter()
    made = built(arguments)
    made.save(arguments.output, overwrite=arguments.overwrite)
    seconds = perf_counter() - start
    size = f"{len(made.items):,} items, {made.nbytes / 1e6:.1f} MB, {seconds:.1f} s"
    print(f"{arguments.output}: {size}, b {made.b:g}")
    if without := int((made.lengths == 0).sum()):
        print(f"without a known token, and so never found: {without:,} of {len(made.items):,}")


def _number(given: str) -> float | str:
    if given == "auto":
        return given
    try:
        return float(given)
    except ValueError:
        raise InputError(f'`--b` must be a number from 0 to 1, or "auto". Got {given!r}.') from None
