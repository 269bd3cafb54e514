"""How long a fan-out takes that waits for its slowest shard: a simulation for 4 to 64 shards, as a plot.

`python -m benchmarks.fan_out_tail [--quick] [--json FILE] [--plot FILE.svg]`

A shard answers in the time of its own search, drawn from a lognormal distribution, plus a hop of the network. With a
small probability it stalls: a page is read from the disk, memory is collected, a neighbor is busy. A fan-out is as slow
as the slowest of its shards, so that rare stalls of one shard become common stalls of all.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.rows import Row, arguments, report

SHARDS = (1, 4, 8, 16, 32, 64)
SEARCH_MS, SPREAD = 1.0, 0.35
"""Median of a shard's own search, and the standard deviation of its logarithm."""
HOP_MS = 1.3
"""A call to an actor and back, measured on one machine; a network adds to it."""
STALL, STALL_MS = 0.005, 20.0
"""How often a shard stalls, and for how long on average."""
DEADLINE_MS = 15.0
SEED = 7


def main() -> None:
    given = arguments("fan_out_tail", own=own_options)
    draws = 20_000 if given.quick else 400_000
    found = {shards: simulated(shards, draws) for shards in SHARDS}
    rows = []
    for shards, (waits, coverage) in found.items():
        for share in (50, 95, 99):
            rows.append(Row(f"{shards} shards: p{share}", float(np.percentile(waits, share)), "", None, "ms"))
        rows.append(Row(f"{shards} shards: mean coverage at {DEADLINE_MS:g} ms", coverage, "", None, "share"))
    if given.plot is not None:
        draw({shards: waits for shards, (waits, _) in found.items()}, given.plot)
    report(rows, given.json)


def own_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the percentiles there")


def simulated(shards: int, draws: int) -> tuple[np.ndarray, float]:
    """Return the milliseconds of fan-outs, and which share of the shards answers by the deadline."""
    pick = np.random.default_rng(SEED)
    slowest, answered = np.zeros(draws), 0
    for _ in range(shards):
        own = SEARCH_MS * np.exp(SPREAD * pick.standard_normal(draws))
        stalls = np.where(pick.random(draws) < STALL, pick.exponential(STALL_MS, draws), 0.0)
        waits = own + stalls + HOP_MS
        answered += int((waits <= DEADLINE_MS).sum())
        slowest = np.maximum(slowest, waits)
    return slowest, answered / (shards * draws)


def draw(waits: dict[int, np.ndarray], path: Path) -> None:
    """Draw p50, p95 and p99 over the number of shards."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "vizsla"
    figure, axes = plt.subplots(figsize=(6.4, 3.6))
    for share, color in ((99, "#b3261e"), (95, "#c77700"), (50, "#1f6f54")):
        values = [float(np.percentile(each, share)) for each in waits.values()]
        axes.plot(list(waits), values, marker="o", color=color, label=f"p{share}")
        axes.annotate(f"{values[-1]:.1f}", (list(waits)[-1], values[-1]), textcoords="offset points", xytext=(6, -3))
    axes.axhline(DEADLINE_MS, color="#666666", linewidth=0.8, linestyle="--")
    axes.annotate(f"deadline {DEADLINE_MS:g} ms", (1, DEADLINE_MS), textcoords="offset points", xytext=(0, 4))
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(waits), [str(shards) for shards in waits])
    axes.set_xlabel("shards that a query waits for")
    axes.set_ylabel("milliseconds")
    axes.set_ylim(bottom=0)
    axes.set_xlim(0.88, 100)  # room for the figures beside the last points
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
