"""vizsla remove: let a saved model forget items, without training."""

from __future__ import annotations

import argparse

from vizsla.cli.item_changes import MODEL_HELP, load_changeable, save_changed
from vizsla.cli.options import add_output, read_lines
from vizsla.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the ids, and where the new model goes."""
    parser.usage = "%(prog)s MODEL [ID ...] [--from FILE] [--unknown ignore] -o OUT [--overwrite]"
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    ids = parser.add_argument("ids", metavar="ID", nargs="+", default=[], help="ids of items to forget")
    # Not nargs="*": argparse would take it for empty at the first option, and refuse ids that come after `-o OUT`.
    ids.required = False
    parser.add_argument("--from", dest="file", metavar="FILE", help="more ids, one a line; '-' is standard input")
    parser.add_argument(
        "--unknown", choices=("raise", "ignore"), default="raise", help="what to do with an id that is not there"
    )
    add_output(parser)


def run(arguments: argparse.Namespace) -> None:
    """Remove, save, and say how many."""
    model = load_changeable(arguments.model)
    left = model.without_items(_ids(arguments), unknown=arguments.unknown)
    save_changed(model, left, arguments, done="removed")


def _ids(arguments: argparse.Namespace) -> list[str]:
    if not arguments.ids and arguments.file is None:
        raise InputError("At least one id must be given, as an argument or by --from FILE. Got none.")
    return [*arguments.ids, *(read_lines(arguments.file) if arguments.file is not None else [])]
