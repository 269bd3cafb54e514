"""vizsla serve: search, items and clicks over HTTP, and a page."""

from __future__ import annotations

import argparse

from vizsla.cli.signatures import SignatureOptions
from vizsla.serve.run import serve

OPTIONS = SignatureOptions(serve)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is served, and how."""
    parser.add_argument("path", metavar="ENGINE_OR_ARTIFACT", help="an engine's folder, or an artifact")
    OPTIONS.add_to(parser)
    parser.epilog = (
        "Tokens come from VIZSLA_READ_TOKEN and VIZSLA_WRITE_TOKEN, or from the files that VIZSLA_READ_TOKEN_FILE and "
        "VIZSLA_WRITE_TOKEN_FILE name."
    )


def run(arguments: argparse.Namespace) -> None:
    """Serve until a signal ends it."""
    serve(arguments.path, **OPTIONS.given(arguments))
