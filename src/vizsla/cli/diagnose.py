"""vizsla diagnose: what a pipeline loses to depth, budget, codes and search."""

from __future__ import annotations

import argparse

from vizsla._internal.terminal import working
from vizsla.autopilot.diagnose import diagnose
from vizsla.cli.options import add_data, add_reports, load_searched, open_data, write_wanted
from vizsla.cli.signatures import SignatureOptions

OPTIONS = SignatureOptions(diagnose)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the pipeline and the data."""
    parser.add_argument("artifact", metavar="INDEX", help="an artifact or an engine")
    add_data(parser)
    OPTIONS.add_to(parser)
    add_reports(parser)
    parser.add_argument("--html", metavar="FILE", help="write a page with a chart")


def run(arguments: argparse.Namespace) -> None:
    """Measure, and say what to change first."""
    retriever, dataset = load_searched(arguments.artifact), open_data(arguments)
    with working("switching to exact twins"):
        found = diagnose(retriever, dataset, **OPTIONS.given(arguments))
    found.show()
    write_wanted(
        (arguments.json, found.to_json), (arguments.markdown, found.to_markdown), (arguments.html, found.to_html)
    )
