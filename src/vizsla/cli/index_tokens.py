"""vizsla index tokens: binary token lists, which never go stale."""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import TYPE_CHECKING

from vizsla._internal.terminal import working
from vizsla.cli.options import add_data, add_output, check_output, field_weights, open_data, save_model
from vizsla.cli.signatures import SignatureOptions
from vizsla.errors import InputError
from vizsla.methods.tokens.model import TokenRetriever, tokens
from vizsla.text.analyzers import Analyzer, AnyLanguage
from vizsla.text.wordpiece import WordPiece

if TYPE_CHECKING:
    from vizsla.data.dataset import Dataset

OPTIONS = SignatureOptions(tokens, only=("b", "seed", "fields"), metavars={"fields": "FIELDS"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data, and how it is indexed."""
    add_data(parser)
    add_output(parser)
    add_building(parser)


def add_building(parser: argparse.ArgumentParser) -> None:
    """Add how texts become tokens, and how much length counts."""
    parser.add_argument("--vocabulary", metavar="PATH", help="a vocab.txt, a tokenizer.json, or a model's folder")
    parser.add_argument("--learn-vocabulary", type=int, metavar="SIZE", help="learn a vocabulary from the texts")
    parser.add_argument("--language", metavar="LANGUAGES", help="stop words and stems: auto, or names: english,german")
    parser.add_argument("--cased", action="store_true", help="keep capitals and accents (for a vocab.txt, or to learn)")
    OPTIONS.add_to(parser)
    parser.set_defaults(weighs_fields=True)


def built(arguments: argparse.Namespace) -> TokenRetriever:
    """Build the retriever that the arguments ask for."""
    if arguments.vocabulary and arguments.learn_vocabulary:
        raise InputError("`--vocabulary` must be left out when one is learned. Got both.")
    if arguments.language and (arguments.vocabulary or arguments.learn_vocabulary):
        raise InputError("`--language` must be left out where a vocabulary says how words are cut. Got both.")
    data = open_data(arguments)
    with working("building"):
        return tokens(
            data, analyzer=_analyzer(arguments, data), epochs=0, **OPTIONS.given(arguments) | field_weights(arguments)
        )


def _analyzer(arguments: argparse.Namespace, data: Dataset) -> Analyzer | None:
    """Return how texts become tokens, None for plain words."""
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
    save_model(made, arguments, start, more=f", b {made.b:g}")
    if without := int((made.lengths == 0).sum()):
        print(f"without a known token, and so never found: {without:,} of {len(made.items):,}")
