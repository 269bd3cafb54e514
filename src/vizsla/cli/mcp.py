"""vizsla mcp: let assistants search an engine or an artifact."""

from __future__ import annotations

import argparse

from vizsla._internal.lazy import import_extra
from vizsla.cli.signatures import SignatureOptions


def _options() -> SignatureOptions:
    import_extra("mcp", "The MCP server", "mcp")
    from vizsla.serve.mcp_tools import serve_mcp

    return SignatureOptions(serve_mcp)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is served, and how."""
    parser.add_argument("path", metavar="ENGINE_OR_ARTIFACT", help="an engine's folder, or an artifact")
    _options().add_to(parser)


def run(arguments: argparse.Namespace) -> None:
    """Serve until the assistant, or a signal, ends it."""
    from vizsla.serve.mcp_tools import serve_mcp

    serve_mcp(arguments.path, **_options().given(arguments))
