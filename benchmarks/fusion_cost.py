"""What it costs to learn a fusion of five parts from a large log: CPU seconds of each step.

    python -m benchmarks.fusion_cost                 # 31,000 items and 28,000 clicks

The log is drawn by `benchmarks.dated_log`. The parts are built first, and not counted; `fuse` then refits them without
the held-out clicks, searches, and tries weights.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from time import process_time

from benchmarks.dated_log import LogShape, dated_log
from vizsla._internal.terminal import markdown_table
from vizsla.autopilot.proposals import Workshop, proposed
from vizsla.methods.fusion import learn_fusion
from vizsla.methods.fusion.fit import part_twin

PARTS = ("bm25_fields", "tokens", "tfidf_clicks", "tree", "memory")


def main() -> None:
    """Print a table."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=31_000)
    parser.add_argument("--clicks", type=int, default=28_000)
    parser.add_argument("--refits", action="store_true", help="time each part's refit instead")
    given = parser.parse_args()
    # A fifth of the days is held out by the log, so that many more are drawn.
    data = dated_log(LogShape(items=given.items, clicks=given.clicks * 5 // 4)).past
    workshop, lines = Workshop(data, proposed(data)), []
    for name in PARTS:
        start = process_time()
        workshop.built(name)
        lines.append([f"building {name} (not counted)", f"{process_time() - start:.1f}"])
        print(*lines[-1], file=sys.stderr, flush=True)
    parts = {name: workshop.built(name) for name in PARTS}
    if given.refits:
        for name, part in parts.items():
            start = process_time()
            part_twin(part, data)
            lines.append([f"refitting {name}", f"{process_time() - start:.1f}"])
            print(*lines[-1], file=sys.stderr, flush=True)
    else:
        start = process_time()
        found = learn_fusion(parts, data)
        lines += [[step, f"{seconds:.1f}"] for step, seconds in found.seconds.items()]
        lines.append(["learning, all steps", f"{process_time() - start:.1f}"])
        print(found.summary, file=sys.stderr)
    events = data.events
    print(f"{len(data.items):,} items, {0 if events is None else len(events.times):,} clicks\n")
    print(markdown_table(["", "CPU s"], lines))


if __name__ == "__main__":
    main()
