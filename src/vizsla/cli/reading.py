"""How a verb reads data: which columns are what, in which encoding, and what becomes of what cannot be read."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from vizsla.dataset import Dataset
from vizsla.errors import InputError
from vizsla.io.reading import Reading
from vizsla.printable import printable

OPTIONS = (
    "id", "text", "title", "meta", "keep_texts", "format", "separator", "encoding", "on_error", "rejected",
    "passage_words", "overlap_words",
)  # fmt: skip


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add how data are read."""
    group = parser.add_argument_group("how data are read")
    group.add_argument("--id", metavar="FIELD", help="the field or column of an item's id (default: by its name)")
    group.add_argument("--text", metavar="FIELDS", help="its texts, such as title,description, which are joined")
    group.add_argument("--title", metavar="FIELD", help="its title")
    group.add_argument(
        "--meta", metavar="FIELDS", help="what else is kept, such as price:number,brand (default: all; '' none)"
    )
    group.add_argument(
        "--keep-texts", action="store_true", default=None, help="save texts too, so that answers show them"
    )
    group.add_argument(
        "--format", choices=("csv", "tsv", "jsonl", "parquet"), help="of a file whose name does not tell"
    )
    group.add_argument("--separator", metavar="CHAR", help="between columns (default: by the header)")
    group.add_argument("--encoding", metavar="NAME", help="utf-8 (default), utf-16, latin-1, …")
    group.add_argument("--on-error", choices=("raise", "warn", "skip"), help="for lines that cannot be read")
    group.add_argument("--rejected", metavar="FILE", help="write the lines that were left out to this file")
    group.add_argument("--click-columns", metavar="NAMES", help="of a click log: query=search,item=sku,time=date")
    group.add_argument("--passage-words", type=int, metavar="N", help="most words of a document's passage (200)")
    group.add_argument("--overlap-words", type=int, metavar="N", help="words that passages share (0)")


def open_items(source: str | Path, arguments: argparse.Namespace, **more: Any) -> Dataset:
    """Open a dataset as the arguments say; say which columns were taken for what where nobody named them."""
    options = {name: value for name in OPTIONS if (value := getattr(arguments, name, None)) is not None}
    if getattr(arguments, "click_columns", None):
        options["click_columns"] = _named_columns(arguments.click_columns)
    dataset = Dataset.open(source, **{**options, **more})
    if dataset.mapping and not {"id", "text"} <= options.keys():
        print(printable(f"vizsla: {dataset.mapping}"), file=sys.stderr)
    return dataset


def click_reading(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how a click log by itself is read."""
    names = ("encoding", "on_error", "rejected")
    options: dict[str, Any] = {n: getattr(arguments, n) for n in names if getattr(arguments, n, None) is not None}
    if getattr(arguments, "click_columns", None):
        options["click_columns"] = _named_columns(arguments.click_columns)
    return options


@contextmanager
def run_reading(arguments: argparse.Namespace) -> Iterator[Reading]:
    """Say how runs are read, after the data: what is rejected of them follows what was rejected there."""
    options = {name: value for name in ("encoding", "on_error") if (value := getattr(arguments, name)) is not None}
    with Path(arguments.rejected).open("ab") if arguments.rejected else nullcontext() as aside:
        yield Reading(**options, rejected=aside)


def _named_columns(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(name.strip() and value.strip() for name, _, value in pairs):
        raise InputError(f"`--click-columns` must be like query=search,item=sku. Got {text!r}.")
    return {name.strip(): value.strip() for name, _, value in pairs}
