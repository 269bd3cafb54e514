"""vizsla demo: search the Python that is installed on this machine."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the questions."""
    parser.add_argument("question", nargs="*", help="ask your own question instead of the examples")


def run(arguments: argparse.Namespace) -> None:
    """Build, measure and search."""
    from vizsla.demo.tour import run_demo

    run_demo(questions=[" ".join(arguments.question)] if arguments.question else None)
