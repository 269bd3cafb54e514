"""vizsla compare: put artifacts and runs side by side, with significance and cost."""

from __future__ import annotations

import argparse
from typing import Any

from vizsla.cli.options import (
    add_data,
    add_reports,
    is_run,
    load_systems,
    named,
    open_judged,
    system_paths,
    write_wanted,
)
from vizsla.cli.signatures import SignatureOptions
from vizsla.errors import InputError
from vizsla.evaluation import compare
from vizsla.evaluation.measures import depth_needed, parse_measures

OPTIONS = SignatureOptions(compare, skip=("k",))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data, the artifacts and the measures."""
    add_data(parser, needed=False)
    systems = "an artifact, an engine, a TREC run, or a folder of runs"
    parser.add_argument("systems", nargs="*", metavar="[NAME=]SYSTEM", help=systems)
    OPTIONS.add_to(parser)
    add_reports(parser)
    parser.add_argument("--latex", metavar="FILE", help="write the table as LaTeX")
    parser.add_argument("--trec", metavar="FOLDER", help="write every run in TREC format")
    parser.add_argument("--plot", metavar="FILE", help="draw quality against latency (.png, .svg, .pdf)")
    parser.add_argument("--plot-bytes", metavar="FILE", help="draw quality against bytes (.png, .svg, .pdf)")
    parser.add_argument(
        "--overlap",
        type=int,
        nargs="?",
        const=10,
        metavar="K",
        help="what each system finds at depth K (10), others not",
    )
    each = "every query's measures, tab-separated; printed without FILE"
    parser.add_argument("--per-query", nargs="?", const="-", metavar="FILE", help=each)
    parser.add_argument("--differences", type=int, metavar="N", help="N queries that differ most, with both answers")


def run(arguments: argparse.Namespace) -> None:
    """Compare and print."""
    if arguments.qrels is not None and arguments.data is not None and is_run(named(arguments.data)[1]):
        arguments.systems, arguments.data = [arguments.data, *arguments.systems], None  # runs, and judgments alone
    if not arguments.systems:
        raise InputError("There must be a system to compare. Got none: name artifacts, TREC runs, or a folder of runs.")
    paths, dataset = system_paths(arguments.systems), open_judged(arguments)
    systems = load_systems(paths, arguments)
    options = OPTIONS.given(arguments)
    if "baseline" in options:  # by its name, or by the path that was given
        asked = options["baseline"]
        options["baseline"] = next((name for name, path in paths.items() if str(path) == asked), asked)
    result = compare(systems, dataset, k=_depth(options, arguments.overlap), **options)
    result.show()
    if arguments.overlap is not None:
        result.overlaps(arguments.overlap).show()
    for difference in result.differences(arguments.differences) if arguments.differences is not None else ():
        difference.show()
    if arguments.per_query == "-":
        print(result.per_query(), end="")
    write_wanted(
        (arguments.per_query if arguments.per_query != "-" else None, result.per_query),
        (arguments.json, result.to_json),
        (arguments.markdown, result.to_markdown),
        (arguments.latex, result.to_latex),
        (arguments.trec, result.to_trec),
        (arguments.plot, result.plot),
        (arguments.plot_bytes, lambda path: result.plot(path, x="bytes")),
    )


def _depth(options: dict[str, Any], overlap: int | None) -> int | None:
    """How deep answers must be: as the measures say, or deeper where the overlap is counted deeper."""
    measures = options.get("measures", OPTIONS.options["measures"].default)
    return None if overlap is None else max(overlap, depth_needed(parse_measures(measures)))
