"""vizsla inspect: an artifact's pedigree, sizes and parameters."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from vizsla.cli.options import add_reading

if TYPE_CHECKING:
    from vizsla.scorers.lazy_vectors import StoredCount


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the artifact."""
    parser.add_argument("artifact", metavar="ARTIFACT", help="a folder, or the file of a LateParametric's vectors")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a tree")
    parser.add_argument("--data", metavar="DATA", help="whose items may have a vector, for a file of vectors")
    add_reading(parser)


def run(arguments: argparse.Namespace) -> None:
    """Print what the manifest says."""
    from vizsla.artifacts.inspect import inspect

    if Path(arguments.artifact).is_file():
        _print_vectors(arguments)
        return
    pedigree = inspect(arguments.artifact)
    print(json.dumps(pedigree.to_dict(), indent=1, ensure_ascii=False) if arguments.json else pedigree)


def _print_vectors(arguments: argparse.Namespace) -> None:
    """Print how many items each encoder has encoded so far; of how many, where the data are given."""
    from vizsla.scorers.lazy_vectors import stored_counts

    texts = None if arguments.data is None else _texts(arguments)
    counts = stored_counts(arguments.artifact, texts or ())
    if arguments.json:
        print(json.dumps({name: _described(count, texts) for name, count in counts.items()}))
        return
    for name, count in counts.items():
        share = "" if texts is None else f" ({count.among:,} of the data's {len(texts):,} texts)"
        print(f"{name}: {count.vectors:,} vectors, {count.nbytes:,} bytes{share}")


def _texts(arguments: argparse.Namespace) -> list[str]:
    """Return the data's distinct texts."""
    from vizsla.cli.options import open_items

    return list(dict.fromkeys(item.default_text() for item in open_items(arguments.data, arguments).items))


def _described(count: StoredCount, texts: list[str] | None) -> dict[str, int]:
    known = {} if texts is None else {"texts": len(texts), "encoded": count.among}
    return {"vectors": count.vectors, "bytes": count.nbytes, **known}
