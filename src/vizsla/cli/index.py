"""vizsla index: build an index over a catalog."""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import TYPE_CHECKING

from vizsla.cli import (
    index_anchors as anchors,
)
from vizsla.cli import (
    index_dense as dense,
)
from vizsla.cli import (
    index_pq as pq,
)
from vizsla.cli import (
    index_sidr as sidr,
)
from vizsla.cli import (
    index_tfidf as tfidf,
)
from vizsla.cli import (
    index_tokens as bag,
)
from vizsla.cli.options import add_data, add_output, check_output, open_data
from vizsla.errors import InputError

if TYPE_CHECKING:
    from vizsla.methods.bm25_statistics import Statistics
    from vizsla.text.analyzers import Analyzer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the kinds of index."""
    kinds = parser.add_subparsers(metavar="KIND", required=True)
    _add_bm25(kinds.add_parser("bm25", help="words, weighted by BM25"))
    bag.add_arguments(kinds.add_parser("bag", help="bags of tokens, weighed by idf or by what clicks taught"))
    _add_statistics(kinds.add_parser("statistics", help="word counts that the shards of a BM25 share"))
    tfidf.add_arguments(kinds.add_parser("tfidf", help="words, pairs of words and character trigrams, by TF-IDF"))
    dense.add_arguments(kinds.add_parser("dense", help="vectors of an encoder"))
    anchors.add_arguments(kinds.add_parser("anchors", help="an expensive scorer, to be searched under a budget"))
    sidr.add_arguments(kinds.add_parser("sidr", help="items encoded by SiDR's model: full parametric search"))
    pq.add_arguments(kinds.add_parser("pq", help="codes for the vectors of a dense model: many times smaller"))


def run(arguments: argparse.Namespace) -> None:
    """Build and save; the sub-parser chose the kind."""
    arguments.build(arguments)


def _add_bm25(parser: argparse.ArgumentParser) -> None:
    from vizsla.methods.bm25_statistics import VARIANTS

    add_data(parser)
    add_output(parser)
    parser.add_argument("--variant", default="lucene", choices=list(VARIANTS), help="default: lucene")
    parser.add_argument("--k1", type=float, default=1.5, help="saturation of repeated words (default: 1.5)")
    parser.add_argument("--b", type=float, default=0.75, help="how much length counts (default: 0.75)")
    parser.add_argument("--delta", type=float, default=0.5, help="floor of bm25l and bm25+ (default: 0.5)")
    parser.add_argument("--statistics", metavar="PATH", help="counts of the whole catalog, if DATA is a shard of it")
    _add_analyzer(parser)
    parser.set_defaults(build=_build_bm25)


def _add_statistics(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    add_output(parser)
    parser.add_argument("--onto", metavar="PATH", help="statistics of the shards before, to which these are added")
    _add_analyzer(parser)
    parser.set_defaults(build=_build_statistics)


def _add_analyzer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--language", metavar="LANGUAGES", help="auto (default), or names: english,german")
    parser.add_argument("--words", action="store_true", help="plain lower-cased words, whatever the language")
    parser.add_argument("--stop-words", metavar="LANGUAGE", help="leave out a language's most frequent words")
    parser.add_argument("--stem", metavar="LANGUAGE", help="Snowball stemming")
    parser.add_argument("--chars", action="store_true", help="character n-grams, for languages without spaces")


def _analyzer(arguments: argparse.Namespace, counted: Statistics | None) -> Analyzer:
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


def _loaded(path: str | None) -> Statistics | None:
    from vizsla.methods.bm25_statistics import Statistics

    return None if path is None else Statistics.load(path)


def _build_statistics(arguments: argparse.Namespace) -> None:
    from vizsla.methods.bm25_statistics import Statistics

    check_output(arguments)
    before = _loaded(arguments.onto)
    counted = Statistics.of(open_data(arguments), analyzer=_analyzer(arguments, before))
    counted = counted if before is None else before.merged(counted)
    counted.save(arguments.output, overwrite=arguments.overwrite)
    print(f"{arguments.output}: {counted.documents:,} items, {counted.bag.dim:,} terms{_spoken(counted)}")


def _build_bm25(arguments: argparse.Namespace) -> None:
    from vizsla.methods.bm25 import bm25

    check_output(arguments)
    statistics = _loaded(arguments.statistics)
    start = perf_counter()
    built = bm25(
        open_data(arguments),
        analyzer=_analyzer(arguments, statistics),
        statistics=statistics,
        variant=arguments.variant,
        k1=arguments.k1,
        b=arguments.b,
        delta=arguments.delta,
    )
    built.save(arguments.output, overwrite=arguments.overwrite)
    seconds = perf_counter() - start
    spoken = _spoken(built.statistics)
    print(f"{arguments.output}: {len(built.items):,} items, {built.nbytes / 1e6:.1f} MB, {seconds:.1f} s{spoken}")


def _spoken(counted: Statistics) -> str:
    """Return the languages of a catalog for the line that sums up, where there are some."""
    languages = counted.analyzer.languages
    return f", {', '.join(languages)}" if languages else ""
