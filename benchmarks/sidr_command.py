"""What the commands that train SiDR share: options, the model, and rows that are told as they come."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from benchmarks.rows import Row, arguments, report, told
from benchmarks.sidr import minilm

Rows = Callable[[argparse.Namespace, str], Iterator[Row]]
Own = Callable[[argparse.ArgumentParser], None]


def run_command(
    name: str, rows: Rows, own: Own, *, steps: int, quick: dict[str, Any], trials: Iterable[str] = ()
) -> None:
    """Read the options, with `own` among them, and report the rows; `trials` are the names that `--only` knows.

    `steps` is how many a training takes unless told, and `quick` what `--quick` changes; the trials that it names are
    those of `--only` unless given.
    """

    def options_of(parser: argparse.ArgumentParser) -> None:
        if names := list(trials):
            parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help="some of the trainings")
        parser.add_argument("--set", default="squad-sent", help="a folder of the data (default: squad-sent)")
        parser.add_argument("--model", metavar="FOLDER", help="a BERT-like model")
        parser.add_argument("--max-steps", type=int, default=steps, help=f"of each training (default: {steps})")
        own(parser)

    options = arguments(name, own=options_of)
    if options.quick:
        chosen = {"only": options.only} if getattr(options, "only", None) else {}
        vars(options).update({"max_steps": 2, **quick, **chosen})
    model = options.model or minilm()
    if model is None:
        raise SystemExit("no model: give --model FOLDER")
    report(list(told(rows(options, model))), options.json)
