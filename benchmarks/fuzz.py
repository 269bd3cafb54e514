"""Hostile artifacts, engines, strings, misuses, files and services, Ctrl-C: nothing may crash, hang or grow.

    python -m benchmarks.fuzz --count 100000 [--target artifacts] [--seed 0] [--first 0] [--jobs 2] [--only bm25]

The same cases as in tests/fuzz, and more of them. A fault is printed once, with the smallest case that shows it;
`--target T --seed S --first N --count 1` runs case N again. Ends with 1 if there is a fault.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from pathlib import Path
from time import perf_counter

from tests.fuzz.campaign import Report, run

QUICK = 400
SHARES = {"artifacts": 1.0, "compositions": 0.2, "misuses": 0.2, "stores": 0.1, "commands": 0.1}
SHARES |= {"bombs": 0.02, "named models": 0.1, "http": 0.1, "engines": 0.05, "savers": 0.02, "service": 1.0}
SHARES |= {"stops": 0.003, "slow stops": 0.0004}
"""How many cases of each target there are for one of artifacts."""


def main() -> int:
    """Run the targets that were asked for, one after another."""
    for stream in (sys.stdout, sys.stderr):  # a case may hold what UTF-8 cannot
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    given = arguments()
    targets = [given.target] if given.target else list(SHARES)
    reports = [campaign(target, given) for target in targets]
    if given.json:
        Path(given.json).write_text(json.dumps([report.to_dict() for report in reports], indent=1))
    return int(any(report.findings for report in reports))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.fuzz", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--count",
        type=int,
        default=100_000,
        help="cases of artifacts; there are fewer of the others",
    )
    parser.add_argument("--target", choices=list(SHARES), help="only these (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="what the cases are drawn with")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes at a time")
    parser.add_argument("--only", default="", help="only what has this in its name, such as a kind")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} cases, to see that everything runs")
    parser.add_argument("--json", metavar="FILE", help="write the counts and the faults")
    given = parser.parse_args()
    given.count = QUICK if given.quick else given.count
    return given


def campaign(target: str, given: argparse.Namespace) -> Report:
    """Run one target, tell how it goes, and print what was found."""
    count = given.count if given.target else max(1, int(given.count * SHARES[target]))
    start = perf_counter()

    def say(line: str) -> None:
        print(f"{target}: {line}, {perf_counter() - start:.0f} s", file=sys.stderr, flush=True)

    report = run(target, count=count, seed=given.seed, first=given.first, jobs=given.jobs, only=given.only, say=say)
    print(f"{target}: {report}\n{perf_counter() - start:.0f} s", flush=True)
    return report


if __name__ == "__main__":
    sys.exit(main())
