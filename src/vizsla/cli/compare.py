"""vizsla compare: put artefacts side by side, with significance and cost."""

from __future__ import annotations

import argparse

from vizsla.cli.options import add_data, add_evaluation, evaluation_options, load_retriever, open_data, unique_names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data, the artefacts and the measures."""
    add_data(parser)
    parser.add_argument("artefacts", nargs="+", metavar="[NAME=]ARTEFACT")
    add_evaluation(parser)
    parser.add_argument("--baseline", metavar="NAME", help="test each system against this one only")
    parser.add_argument("--trec", metavar="FOLDER", help="write every run in TREC format")
    parser.add_argument("--plot", metavar="FILE", help="draw quality against latency (.png, .svg, .pdf)")
    parser.add_argument("--plot-bytes", metavar="FILE", help="draw quality against bytes (.png, .svg, .pdf)")


def run(arguments: argparse.Namespace) -> None:
    """Compare and print."""
    from vizsla.evaluate import compare

    systems = {name: load_retriever(path) for name, path in unique_names(arguments.artefacts).items()}
    options = evaluation_options(arguments)
    result = compare(systems, open_data(arguments), arguments.split, baseline=arguments.baseline, **options)
    result.show()
    for wanted, write in (
        (arguments.json, result.to_json),
        (arguments.markdown, result.to_markdown),
        (arguments.trec, result.to_trec),
        (arguments.plot, result.plot),
        (arguments.plot_bytes, lambda path: result.plot(path, x="bytes")),
    ):
        if wanted:
            write(wanted)
