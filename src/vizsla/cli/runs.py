"""vizsla runs: fuse TREC runs by reciprocal rank, or pool what judges should look at."""

from __future__ import annotations

import argparse

from vizsla.cli.options import add_reading, run_reading, system_paths
from vizsla.cli.signatures import SignatureOptions
from vizsla.errors import InputError
from vizsla.evaluation.runs import fuse_runs, pool, run_of
from vizsla.io.atomic import writing
from vizsla.io.trec import read_answers, word

FUSING = SignatureOptions(fuse_runs, metavars={"weights": "X"})
POOLING = SignatureOptions(pool, skip=("split", "judged"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the runs and where the result goes."""
    pooled = parser.get_default("kind") == "pool"
    parser.add_argument("runs", nargs="+", metavar="[NAME=]RUN", help="a TREC run, or a folder of runs")
    what = "the pairs to judge, tab-separated" if pooled else "the fused run in TREC format"
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help=what)
    parser.add_argument("--overwrite", action="store_true", help="replace a file that is there already")
    if pooled:
        parser.add_argument("--qrels", metavar="FILE", help="judgments that are there: their pairs are left out")
    (POOLING if pooled else FUSING).add_to(parser)
    add_reading(parser)


def run(arguments: argparse.Namespace) -> None:
    """Read the runs, and write what they are together."""
    paths = system_paths(arguments.runs)
    with run_reading(arguments) as how:
        runs = [run_of(read_answers(path, how=how)) for path in paths.values()]
    if arguments.kind == "fuse":
        fused = fuse_runs(runs, **FUSING.given(arguments))
        if not len(fused):
            raise InputError("Runs must answer queries to be fused. Got none.")
        with writing(arguments.output, overwrite=arguments.overwrite) as out:
            out.write(fused.to_trec(tag="rrf").encode())
        print(f"{arguments.output}: {len(fused):,} queries, {len(fused.items):,} answers of {len(runs)} runs")
        return
    pairs = pool(runs, judged=arguments.qrels, **POOLING.given(arguments))
    with writing(arguments.output, overwrite=arguments.overwrite) as out:
        for query, items in pairs.items():
            out.writelines(f"{word(query)}\t{word(item)}\n".encode() for item in items)
    print(f"{arguments.output}: {len(pairs):,} queries, {sum(map(len, pairs.values())):,} pairs to judge")
