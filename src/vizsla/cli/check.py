"""vizsla check: audit every file of an artefact."""

from __future__ import annotations

import argparse
import sys

from vizsla._internal.terminal import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the artefacts."""
    parser.add_argument("artefacts", nargs="+", metavar="ARTEFACT")


def run(arguments: argparse.Namespace) -> int:
    """Print a line an artefact; exit with 1 when any is damaged."""
    from vizsla.artifacts.inspect import check

    damaged = False
    for path in arguments.artefacts:
        problems = check(path)
        damaged = damaged or bool(problems)
        for problem in problems:
            print(printable(str(problem)), file=sys.stderr)
        print(printable(f"{path}: {_verdict(len(problems))}"))
    return int(damaged)


def _verdict(problems: int) -> str:
    if not problems:
        return "sound"
    return "1 problem" if problems == 1 else f"{problems} problems"
