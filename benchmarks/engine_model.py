"""Random steps with an engine and with a plain dict, whose answers must be equal: tests/engine/model.py, for longer.

Walks of some hundred steps, each with a seed of its own, which is printed where one fails.
`python -m benchmarks.engine_model [--steps 200000] [--seed 0]`
"""

from __future__ import annotations

import argparse
import tempfile
import traceback
import warnings
from pathlib import Path
from time import perf_counter

from tests.engine.model import FLUSH_ROWS, MEMORY, walk
from vizsla.core.validation import DatasetWarning
from vizsla.engine import maintenance

WALK = 250
"""Steps of one walk."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine_model")
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first walk; each has the next number")
    given = parser.parse_args()
    warnings.simplefilter("ignore", DatasetWarning)
    failed, begun = list[int](), perf_counter()
    for number in range(-(-given.steps // WALK)):
        seed = given.seed + number
        # In every other walk columns of metadata are written anew after a few changes, not thousands.
        maintenance.MAX_CHANGED_ROWS = 4000 if seed % 2 else 2
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            try:
                walk(Path(folder) / "engine", seed, steps=WALK, flush_rows=FLUSH_ROWS[seed // 2 % len(FLUSH_ROWS)])
            except Exception:
                traceback.print_exc()
                failed.append(seed)
                print(f"seed {seed} failed", flush=True)
        if number % 20 == 19:
            print(f"{(number + 1) * WALK:,} steps, {perf_counter() - begun:,.0f} s, {len(failed)} failed", flush=True)
    print(f"{given.steps:,} steps from seed {given.seed} on: {len(failed)} walks failed {failed}")
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
