"""vizsla eval: measure the quality and cost of an artifact, or of a run, on judged queries."""

from __future__ import annotations

import argparse

from vizsla.cli.options import (
    add_data,
    add_evaluation,
    evaluation_options,
    load_systems,
    open_data,
    system_paths,
    write_wanted,
)
from vizsla.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the artifact, the data and the measures."""
    parser.add_argument("system", metavar="[NAME=]SYSTEM", help="an artifact or a TREC run")
    add_data(parser)
    add_evaluation(parser)
    parser.add_argument("--trec", metavar="FILE", help="write the run in TREC format")


def run(arguments: argparse.Namespace) -> None:
    """Evaluate and print."""
    from vizsla.evaluation import evaluate

    (name, path), *others = system_paths([arguments.system]).items()
    if others:
        raise InputError(
            f"`vizsla eval` takes one system, and then the data. Got {arguments.system}, a folder of {len(others) + 1} "
            "files: name one of them, or compare them all with `vizsla compare DATA FOLDER`."
        )
    dataset = open_data(arguments)
    system = load_systems({name: path}, arguments)[name]
    result = evaluate(system, dataset, arguments.split, name=name, **evaluation_options(arguments))
    result.show()
    write_wanted(
        (arguments.json, result.to_json), (arguments.markdown, result.to_markdown), (arguments.trec, result.to_trec)
    )
