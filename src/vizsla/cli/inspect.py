"""vizsla inspect: an artefact's pedigree, sizes and parameters."""

from __future__ import annotations

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the artefact."""
    parser.add_argument("artefact", metavar="ARTEFACT")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a tree")


def run(arguments: argparse.Namespace) -> None:
    """Print what the manifest says."""
    from vizsla.artifacts.inspect import inspect

    pedigree = inspect(arguments.artefact)
    print(json.dumps(pedigree.to_dict(), indent=1, ensure_ascii=False) if arguments.json else pedigree)
