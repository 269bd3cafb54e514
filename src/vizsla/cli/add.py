"""vizsla add: give a saved model new items, without training."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from inspect import signature
from typing import Any

from vizsla._internal.terminal import working
from vizsla.cli.item_changes import MODEL_HELP, load_changeable, save_changed
from vizsla.cli.options import DATA_HELP, add_output, add_reading, open_items
from vizsla.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the items, and where the new model goes."""
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    parser.add_argument("items", metavar="ITEMS", help=f"new ids with their texts: {DATA_HELP}")
    add_output(parser)
    add_reading(parser)
    parser.add_argument("--neighbors", type=int, metavar="N", help="old items that teach a new one (default: 10)")


def run(arguments: argparse.Namespace) -> None:
    """Add, save, and say how many."""
    model = load_changeable(arguments.model)
    options = _options(arguments, model.with_items)
    dataset = open_items(arguments.items, arguments)
    with working("adding"):
        more = model.with_items(dataset.items, **options)
    save_changed(model, more, arguments, done="added")


def _options(arguments: argparse.Namespace, with_items: Callable[..., Any]) -> dict[str, int]:
    if arguments.neighbors is None:
        return {}
    if "neighbors" not in signature(with_items).parameters:
        raise InputError(f"`--neighbors` must be left out for this kind of model. Got {arguments.neighbors}.")
    return {"neighbors": arguments.neighbors}
