"""vizsla index bm25: index a catalog by its words."""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import TYPE_CHECKING

from vizsla.cli.options import add_data, add_output, check_output, open_data
from vizsla.errors import InputError

if TYPE_CHECKING:
    from vizsla.methods.bm25_statistics import Statistics
    from vizsla.text.analyzers import Analyzer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data, the formula, and how texts become words."""
    from vizsla.methods.bm25_statistics import VARIANTS

    add_data(parser)
    add_output(parser)
    parser.add_argument("--variant", default="lucene", choices=list(VARIANTS), help="default: lucene")
    parser.add_argument("--k1", type=float, default=1.5, help="saturation of repeated words (default: 1.5)")
    parser.add_argument("--b", type=float, default=0.75, help="how much length counts (default: 0.75)")
    parser.add_argument("--delta", type=float, default=0.5, help="floor of bm25l and bm25+ (default: 0.5)")
    parser.add_argument("--statistics", metavar="PATH", help="counts of the whole catalog, if DATA is a shard of it")
    add_analyzer(parser)


def add_analyzer(parser: argparse.ArgumentParser) -> None:
    """Add how texts become words."""
    parser.add_argument("--language", metavar="LANGUAGES", help="auto (default), or names: english,german")
    parser.add_argument("--words", action="store_true", help="plain lower-cased words, whatever the language")
    parser.add_argument("--stop-words", metavar="LANGUAGE", help="leave out a language's most frequent words")
    parser.add_argument("--stem", metavar="LANGUAGE", help="Snowball stemming")
    parser.add_argument("--chars", action="store_true", help="character n-grams, for languages without spaces")


def chosen_analyzer(arguments: argparse.Namespace, counted: Statistics | None) -> Analyzer:
    """Return the analyzer that was asked for; nothing asked for means that of the statistics, or any language."""
    from vizsla.text.analyzers import Analyzer, AnyLanguage

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
    from vizsla.methods.bm25_statistics import Statistics

    return None if path is None else Statistics.load(path)


def run(arguments: argparse.Namespace) -> None:
    """Build and save."""
    from vizsla.methods.bm25 import bm25

    check_output(arguments)
    statistics = load_statistics(arguments.statistics)
    start = perf_counter()
    built = bm25(
        open_data(arguments),
        analyzer=chosen_analyzer(arguments, statistics),
        statistics=statistics,
        variant=arguments.variant,
        k1=arguments.k1,
        b=arguments.b,
        delta=arguments.delta,
    )
    built.save(arguments.output, overwrite=arguments.overwrite)
    seconds = perf_counter() - start
    spoken = languages_of(built.statistics)
    print(f"{arguments.output}: {len(built.items):,} items, {built.nbytes / 1e6:.1f} MB, {seconds:.1f} s{spoken}")


def languages_of(counted: Statistics) -> str:
    """Return the languages of a catalog for the line that sums up, where there are some."""
    languages = counted.analyzer.languages
    return f", {', '.join(languages)}" if languages else ""
