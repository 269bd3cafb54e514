"""Product quantization: quality by bytes, speed of a search, memory of building; and the guarded flat index.

`python -m benchmarks.pq [--quick] [--json FILE] [--only scan guard …]`; the parts `rivals` and `ash` have other codes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.contestant import ONE_THREAD
from benchmarks.pq_ash import ash_rows
from benchmarks.pq_quality import quality_rows
from benchmarks.pq_rivals import rival_rows
from benchmarks.pq_speed import guard_rows, memory_rows, scan_rows
from benchmarks.rows import Row, arguments, report

PARTS = ("scan", "guard", "memory", "squad-sent", "tldr", "rivals", "ash")


def parts(*, quick: bool) -> dict[str, Callable[[], Iterator[Row]]]:
    """Return what can be measured, by name."""
    return {
        "scan": partial(scan_rows, quick=quick),
        "guard": partial(guard_rows, quick=quick),
        "memory": partial(memory_rows, quick=quick),
        "squad-sent": partial(quality_rows, "squad-sent", quick=quick),
        "tldr": partial(quality_rows, "tldr", quick=quick),
        "rivals": partial(rival_rows, "squad-sent", quick=quick),
        "ash": partial(ash_rows, "squad-sent", quick=quick),
    }


def main() -> None:
    """Measure all parts, or those that --only names."""
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        command = [sys.executable, "-m", "benchmarks.pq", *sys.argv[1:]]
        raise SystemExit(subprocess.run(command, env=os.environ | ONE_THREAD).returncode)
    given, rows = arguments("pq", own=lambda parser: parser.add_argument("--only", nargs="+", choices=PARTS)), []
    for name, measure in parts(quick=given.quick).items():
        for row in measure() if given.only is None or name in given.only else ():
            rows.append(row)
            print(f"{row.work}: {row.ours} {row.note}", file=sys.stderr, flush=True)
    report(rows, given.json)


if __name__ == "__main__":
    main()
