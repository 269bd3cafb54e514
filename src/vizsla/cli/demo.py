"""vizsla demo: search the Python that is installed on this machine."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the questions."""
    parser.add_argument("question", nargs="*", help="ask your own question instead of the examples")
    parser.add_argument("--serve", action="store_true", help="open the page over a live engine instead of the tour")
    parser.add_argument("--port", type=int, default=8080, help="the port of --serve (default: 8080)")


def run(arguments: argparse.Namespace) -> None:
    """Build, measure and search, or serve."""
    if arguments.serve:
        from vizsla.demo.live import serve_demo

        serve_demo(port=arguments.port)
        return
    from vizsla.demo.tour import run_demo

    run_demo(questions=[" ".join(arguments.question)] if arguments.question else None)
