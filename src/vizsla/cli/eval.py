"""vizsla eval: measure an artefact's quality and cost on judged queries."""

from __future__ import annotations

import argparse

from vizsla.cli.options import (
    add_data,
    add_evaluation,
    evaluation_options,
    load_retriever,
    named,
    open_data,
    write_wanted,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the artefact, the data and the measures."""
    parser.add_argument("artefact", metavar="[NAME=]ARTEFACT")
    add_data(parser)
    add_evaluation(parser)
    parser.add_argument("--trec", metavar="FILE", help="write the run in TREC format")


def run(arguments: argparse.Namespace) -> None:
    """Evaluate and print."""
    from vizsla.evaluate import evaluate

    name, path = named(arguments.artefact)
    options = evaluation_options(arguments)
    result = evaluate(load_retriever(path), open_data(arguments), arguments.split, name=name, **options)
    result.show()
    write_wanted(
        (arguments.json, result.to_json), (arguments.markdown, result.to_markdown), (arguments.trec, result.to_trec)
    )
