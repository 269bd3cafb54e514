"""vizsla complete: what probably follows the letters that were typed."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from vizsla._internal.terminal import escape_control, printable_json
from vizsla.artifacts.artifact import load
from vizsla.artifacts.manifest import MANIFEST
from vizsla.cli.options import add_reading, is_engine, open_items
from vizsla.engine.engine import Engine
from vizsla.errors import InputError
from vizsla.text.completion import Completer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add where entries come from, and what was typed."""
    source = "a completer, an engine's folder, or data whose titles and clicked queries are read at once"
    parser.add_argument("source", metavar="SOURCE", help=source)
    parser.add_argument("prefix", metavar="PREFIX", help="what was typed so far")
    parser.add_argument("-k", type=int, default=8, metavar="N", help="how many at most (default: 8)")
    parser.add_argument("--exact", action="store_true", help="forgive no typo")
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    add_reading(parser)


def run(arguments: argparse.Namespace) -> None:
    """Complete and print, one text per line."""
    found = _completed(arguments)
    if arguments.json:
        print(printable_json(json.dumps(found, ensure_ascii=False)))
        return
    for text in found:
        print(escape_control(text))


def _completed(arguments: argparse.Namespace) -> list[str]:
    folder, typos = Path(arguments.source), not arguments.exact
    if is_engine(folder):
        with Engine.open(folder, maintenance="manual") as engine:
            return engine.complete(arguments.prefix, arguments.k, typos=typos)
    if (folder / MANIFEST).is_file():
        loaded = load(folder)
        if not isinstance(loaded, Completer):
            raise InputError(
                f"`source` must be a completer, an engine or data. Got kind {loaded.kind!r}: make one by "
                "`vizsla index completion`."
            )
        return loaded(arguments.prefix, arguments.k, typos=typos)
    return Completer.of(open_items(arguments.source, arguments))(arguments.prefix, arguments.k, typos=typos)
