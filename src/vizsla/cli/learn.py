"""vizsla learn: the best search for items and clicks, within limits, without naming a method."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import perf_counter

from vizsla._internal.terminal import escape_control
from vizsla.autopilot.learn import WORK_SUFFIX, learn
from vizsla.autopilot.log_summary import LogSummary
from vizsla.autopilot.race import Progress, ProgressStage
from vizsla.cli.options import add_data, open_data
from vizsla.cli.signatures import SignatureOptions
from vizsla.encoders.open import open_encoder
from vizsla.scorers.cross_encoder import CrossEncoder

OPTIONS = SignatureOptions(
    learn, skip=("path", "replay"), metavars={"limit": "AMOUNTS", "time": "TIME"}, notes={"limit": "default: none"}
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data, where the winner goes, and what it may cost."""
    add_data(parser)
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="a new folder for the engine")
    OPTIONS.add_to(parser)
    parser.add_argument("--encoder", metavar="MODEL", help="a dense encoder to try: a folder or a hub id")
    parser.add_argument("--scorer", metavar="MODEL", help="a cross-encoder to re-rank by: a folder or a hub id")
    parser.add_argument("--against", metavar="SYSTEM", help="what is used today: an artifact or a TREC run")
    parser.add_argument("--replay", metavar="LOCK", help="build the winner of an earlier run again: its lock.json")


def run(arguments: argparse.Namespace) -> None:
    """Say what the data hold, search, and say what was found."""
    dataset, start = open_data(arguments), perf_counter()
    if arguments.replay is None:
        summary = LogSummary.of(dataset)
        for line in summary.lines:
            if line not in summary.warnings:  # they were shown when the data were read
                _say(line)
    made = learn(
        dataset,
        arguments.output,
        encoder=None if arguments.encoder is None else open_encoder(arguments.encoder),
        scorer=None if arguments.scorer is None else CrossEncoder(dataset, arguments.scorer),
        against=arguments.against,
        replay=arguments.replay,
        watch=print_progress,
        **OPTIONS.given(arguments),
    )
    if made.report is not None:
        made.report.show()
    beside = f"{arguments.output}{WORK_SUFFIX}"
    files = ", ".join(sorted(file.name for file in Path(beside).iterdir() if file.is_file()))
    _say(f"{arguments.output}: {len(made.items):,} items, {perf_counter() - start:.0f} s; {beside} has {files}")
    if hasattr(made, "close"):
        made.close()


def print_progress(progress: Progress | ProgressStage) -> None:
    """Print a line on standard error."""
    print(escape_control(f"vizsla: {progress}"), file=sys.stderr, flush=True)


def _say(text: str) -> None:
    print(escape_control(text), flush=True)
