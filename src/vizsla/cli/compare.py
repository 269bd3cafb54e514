"""vizsla compare: put artefacts side by side, with significance and cost."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from itertools import combinations

from vizsla.cli.options import (
    add_data,
    add_evaluation,
    evaluation_options,
    load_retriever,
    open_data,
    unique_names,
    write_wanted,
)
from vizsla.dataset import Dataset
from vizsla.retriever import Retriever


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data, the artefacts and the measures."""
    add_data(parser)
    parser.add_argument("artefacts", nargs="+", metavar="[NAME=]ARTEFACT")
    add_evaluation(parser)
    parser.add_argument("--baseline", metavar="NAME", help="test each system against this one only")
    parser.add_argument("--trec", metavar="FOLDER", help="write every run in TREC format")
    parser.add_argument("--plot", metavar="FILE", help="draw quality against latency (.png, .svg, .pdf)")
    parser.add_argument("--plot-bytes", metavar="FILE", help="draw quality against bytes (.png, .svg, .pdf)")
    parser.add_argument("--overlap", type=int, metavar="K", help="count what each pair finds at depth K")


def run(arguments: argparse.Namespace) -> None:
    """Compare and print."""
    from vizsla.evaluate import compare

    systems = {name: load_retriever(path) for name, path in unique_names(arguments.artefacts).items()}
    options, dataset = evaluation_options(arguments), open_data(arguments)
    result = compare(systems, dataset, arguments.split, baseline=arguments.baseline, **options)
    result.show()
    if arguments.overlap is not None:
        _show_overlaps(systems, dataset, arguments)
    write_wanted(
        (arguments.json, result.to_json),
        (arguments.markdown, result.to_markdown),
        (arguments.trec, result.to_trec),
        (arguments.plot, result.plot),
        (arguments.plot_bytes, lambda path: result.plot(path, x="bytes")),
    )


def _show_overlaps(systems: Mapping[str, Retriever], dataset: Dataset, arguments: argparse.Namespace) -> None:
    from vizsla.evaluate.overlap import overlap

    for (one, a), (other, b) in combinations(systems.items(), 2):
        overlap(a, b, dataset, arguments.split, k=arguments.overlap, names=(one, other)).show()
