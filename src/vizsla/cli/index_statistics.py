"""vizsla index statistics: count the words of a catalog for the shards of a BM25."""

from __future__ import annotations

import argparse

from vizsla._internal.terminal import working
from vizsla.cli.index_bm25 import add_analyzer, chosen_analyzer, languages_of, load_statistics
from vizsla.cli.options import add_data, add_output, check_output, field_weights, open_data
from vizsla.methods.bm25_statistics import Statistics


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data, and the counts that they are added to."""
    add_data(parser)
    add_output(parser)
    parser.add_argument("--onto", metavar="PATH", help="statistics of the shards before, to which these are added")
    parser.add_argument("--fields", metavar="FIELDS", help="fields that the shards weigh apart, such as title,text")
    parser.set_defaults(weighs_fields=True)
    add_analyzer(parser)


def run(arguments: argparse.Namespace) -> None:
    """Count and save."""
    check_output(arguments)
    before = load_statistics(arguments.onto)
    with working("counting"):
        analyzer = chosen_analyzer(arguments, before)
        counted = Statistics.of(open_data(arguments), analyzer=analyzer, **field_weights(arguments))
        counted = counted if before is None else before.merged(counted)
    counted.save(arguments.output, overwrite=arguments.overwrite)
    print(f"{arguments.output}: {counted.documents:,} items, {counted.words.dim:,} terms{languages_of(counted)}")
