"""vizsla inspect: an artefact's pedigree, sizes and parameters."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the artefact."""
    parser.add_argument("artefact", metavar="ARTEFACT", help="a folder, or the file of a LateParametric's vectors")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a tree")


def run(arguments: argparse.Namespace) -> None:
    """Print what the manifest says."""
    from vizsla.artifacts.inspect import inspect

    if Path(arguments.artefact).is_file():
        _print_vectors(arguments)
        return
    pedigree = inspect(arguments.artefact)
    print(json.dumps(pedigree.to_dict(), indent=1, ensure_ascii=False) if arguments.json else pedigree)


def _print_vectors(arguments: argparse.Namespace) -> None:
    """Print how many items each encoder has encoded so far."""
    from vizsla.vector_store import stored_counts

    counts = stored_counts(arguments.artefact)
    if arguments.json:
        print(json.dumps({name: {"vectors": count, "bytes": size} for name, (count, size) in counts.items()}))
        return
    for name, (count, size) in counts.items():
        print(f"{name}: {count:,} vectors, {size:,} bytes")
