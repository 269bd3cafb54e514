"""vizsla check: audit every file of an artifact."""

from __future__ import annotations

import argparse
import sys

from vizsla._internal.terminal import escape_control


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the artifacts."""
    parser.add_argument("artifacts", nargs="+", metavar="ARTIFACT")


def run(arguments: argparse.Namespace) -> int:
    """Print a line an artifact; exit with 1 when any is damaged."""
    from vizsla.artifacts.inspect import check

    damaged = False
    for path in arguments.artifacts:
        problems = check(path)
        damaged = damaged or bool(problems)
        for problem in problems:
            print(escape_control(str(problem)), file=sys.stderr)
        print(escape_control(f"{path}: {_verdict(len(problems))}"))
    return int(damaged)


def _verdict(problems: int) -> str:
    if not problems:
        return "sound"
    return "1 problem" if problems == 1 else f"{problems} problems"
