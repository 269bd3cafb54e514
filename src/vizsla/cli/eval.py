"""vizsla eval: measure the quality and cost of an artifact, or of a run, on judged queries."""

from __future__ import annotations

import argparse

from vizsla.cli.options import (
    add_data,
    add_reports,
    load_systems,
    open_judged,
    system_paths,
    write_wanted,
)
from vizsla.cli.signatures import SignatureOptions
from vizsla.errors import InputError
from vizsla.evaluation import evaluate

OPTIONS = SignatureOptions(evaluate, skip=("k", "name"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the artifact, the data and the measures."""
    parser.add_argument("system", metavar="[NAME=]SYSTEM", help="an artifact or a TREC run")
    add_data(parser, needed=False)
    OPTIONS.add_to(parser)
    add_reports(parser)
    parser.add_argument("--latex", metavar="FILE", help="write the table as LaTeX")
    parser.add_argument("--trec", metavar="FILE", help="write the run in TREC format")


def run(arguments: argparse.Namespace) -> None:
    """Evaluate and print."""
    (name, path), *others = system_paths([arguments.system]).items()
    if others:
        raise InputError(
            f"`vizsla eval` takes one system, and then the data. Got {arguments.system}, a folder of {len(others) + 1} "
            "files: name one of them, or compare them all with `vizsla compare DATA FOLDER`."
        )
    dataset = open_judged(arguments)
    system = load_systems({name: path}, arguments)[name]
    result = evaluate(system, dataset, name=name, **OPTIONS.given(arguments))
    result.show()
    write_wanted(
        (arguments.json, result.to_json),
        (arguments.markdown, result.to_markdown),
        (arguments.latex, result.to_latex),
        (arguments.trec, result.to_trec),
    )
