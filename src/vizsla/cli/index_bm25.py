"""vizsla index bm25: index a catalog by its words."""

from __future__ import annotations

import argparse
from time import perf_counter

from vizsla._internal.terminal import working
from vizsla.cli.options import add_data, add_output, check_output, field_weights, open_data, save_model
from vizsla.cli.signatures import SignatureOptions
from vizsla.errors import InputError
from vizsla.methods.bm25 import bm25
from vizsla.methods.bm25_statistics import Statistics
from vizsla.methods.typo_tolerant import typo_tolerant
from vizsla.text.analyzers import Analyzer, AnyLanguage

OPTIONS = SignatureOptions(bm25, metavars={"fields": "FIELDS"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data, the formula, and how texts become words."""
    add_data(parser)
    add_output(parser)
    OPTIONS.add_to(parser)
    parser.set_defaults(weighs_fields=True)
    parser.add_argument("--statistics", metavar="PATH", help="counts of the whole catalog, if DATA is a shard of it")
    typos = "forgive typos: store what finds the neighbors of misspelled words, about 9 bytes per word"
    parser.add_argument("--typos", action="store_true", help=typos)
    add_analyzer(parser)


def run(arguments: argparse.Namespace) -> None:
    """Build and save."""
    check_output(arguments)
    counted = load_statistics(arguments.statistics)
    start, analyzer = perf_counter(), chosen_analyzer(arguments, counted)
    with working("building"):
        options = OPTIONS.given(arguments) | field_weights(arguments)
        built = bm25(open_data(arguments), analyzer=analyzer, statistics=counted, **options)
    if built.report is not None:
        print(f"fields: {built.report.summary}")
    save_model(
        typo_tolerant(built) if arguments.typos else built, arguments, start, more=languages_of(built.statistics)
    )


def add_analyzer(parser: argparse.ArgumentParser) -> None:
    """Add how texts become words."""
    parser.add_argument("--language", metavar="LANGUAGES", help="auto (default), or names: english,german")
    parser.add_argument("--words", action="store_true", help="plain lower-cased words, whatever the language")
    parser.add_argument("--stop-words", metavar="LANGUAGE", help="leave out a language's most frequent words")
    parser.add_argument("--stem", metavar="LANGUAGE", help="Snowball stemming")
    parser.add_argument("--chars", action="store_true", help="character n-grams, for languages without spaces")


def chosen_analyzer(arguments: argparse.Namespace, counted: Statistics | None) -> Analyzer:
    """Return the analyzer that was asked for; nothing asked for means that of the statistics, or any language."""
    plain = arguments.words or arguments.chars or arguments.stop_words or arguments.stem
    if arguments.language and plain:
        raise InputError("`--language` must stand alone. Got --words, --chars, --stop-words or --stem with it.")
    if plain:
        kind = "chars" if arguments.chars else "words"
        return Analyzer(kind=kind, stop_words=arguments.stop_words, stem=arguments.stem)
    if arguments.language is None:
        return AnyLanguage() if counted is None else counted.analyzer
    return AnyLanguage.asked_for(arguments.language)


def load_statistics(path: str | None) -> Statistics | None:
    """Return the statistics that were asked for."""
    return None if path is None else Statistics.load(path)


def languages_of(counted: Statistics) -> str:
    """Return the languages of a catalog for the line that sums up, where there are some."""
    languages = counted.analyzer.languages
    return f", {', '.join(languages)}" if languages else ""
