"""vizsla report: a page of a learned search or of a comparison, which needs nothing else."""

from __future__ import annotations

import argparse
from pathlib import Path

from vizsla._internal.terminal import escape_control
from vizsla.autopilot.report_page import page_of_file
from vizsla.core.validation import as_path
from vizsla.evaluation.report import write_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is shown, and where."""
    parser.add_argument("result", metavar="JSON", help="report.json of `learn`, or what `compare --json` wrote")
    parser.add_argument("-o", "--output", metavar="HTML", help="the page (default: the result's name with .html)")


def run(arguments: argparse.Namespace) -> None:
    """Write the page."""
    source = as_path(arguments.result)
    target = Path(arguments.output) if arguments.output else source.with_suffix(".html")
    write_text(page_of_file(source), target)
    print(escape_control(str(target)))
