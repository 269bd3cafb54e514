"""SIGKILL at random moments, a reader beside, and a record outside of what was acknowledged: tests/engine/killing.py.

`python -m benchmarks.engine_kills [--count 3000] [--seed 0]`
"""

from __future__ import annotations

import argparse
import tempfile
import traceback
from pathlib import Path
from time import perf_counter

from tests.engine.history import OPTIONS
from tests.engine.killing import Killing
from tests.engine.model import MEMORY
from vizsla.engine.engine import Engine

EACH = 50
"""Kills of one engine."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine_kills")
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0, help="of the first engine; each has the next number")
    given = parser.parse_args()
    kills, failed, looks, begun = 0, list[int](), 0, perf_counter()
    for seed in range(given.seed, given.seed - (-given.count // EACH)):
        with tempfile.TemporaryDirectory(dir=MEMORY) as base:
            folder = Path(base) / "engine"
            Engine.create(folder, maintenance="manual", **OPTIONS).close()
            killing = Killing(folder, seed)
            try:
                for number in range(EACH):
                    killing.kill(answers=number % 5 == 0)
                    kills += 1
                killing.close()
            except Exception:
                traceback.print_exc()
                failed.append(seed)
                print(f"seed {seed} failed at kill {number}", flush=True)
            looks += killing.looks
        print(f"{kills:,} kills, {looks:,} looks of a reader, {perf_counter() - begun:,.0f} s, {failed}", flush=True)
    print(f"{kills:,} kills, {looks:,} looks: {len(failed)} engines lost something, showed a half or did not open")
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
