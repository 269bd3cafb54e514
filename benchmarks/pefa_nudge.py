"""NUDGE beside PEFA-XS, and the exact line search for the share of the clicks beside the grid.

    python -m benchmarks.pefa_nudge [--sets tldr squad-sent]

NUDGE (arXiv 2409.02343) moves all clicked items by one length γ towards the sum of their queries: M leaves them where
that leads, N brings them back to the sphere. γ is found exactly: for each held-out query the steps at which its item is
first form an interval, and the step in most intervals wins. The same search finds PEFA-XS's share of the clicks without
a grid, since its scores are linear in it too. Steps are found on held-out clicks, of which half are about items without
another click (or none are, "warm"); test queries are only measured.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper_tables import SPLITS, recalls, shown
from benchmarks.pefa_collection import Collection
from vizsla._internal.terminal import markdown_table
from vizsla.learning.clicks import ClickLog
from vizsla.learning.splits import log_splits
from vizsla.methods.dense import dense
from vizsla.methods.pefa import pefa_xs

Matrix = NDArray[np.float32]
QUERIES_PER_BLOCK = 256


def intervals(base: Matrix, moved: Matrix, answers: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return for each query the steps t ≥ 0 between which its answer is first by ``base + t · moved``.

    Where there is no such step the lower end is above the upper one.

    Examples
    --------
    >>> base, moved = np.float32([[1, 0], [1, 0]]), np.float32([[0, 2], [1, 0]])
    >>> low, high = intervals(base, moved, np.array([1, 0]))
    >>> low.tolist(), high.tolist()
    ([0.5, 0.0], [inf, inf])
    """
    rows = np.arange(len(answers))
    gaps = (base[rows, answers][:, None] - base).astype(np.float64)  # first where gaps + t · slopes >= 0
    slopes = (moved[rows, answers][:, None] - moved).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        crossings = -gaps / slopes
    low = np.where(slopes > 0, crossings, 0.0).max(axis=1, initial=0.0)
    high = np.where(slopes < 0, crossings, np.inf).min(axis=1, initial=np.inf)
    never = ((slopes == 0) & (gaps < 0)).any(axis=1)
    return np.where(never, np.inf, low), np.where(never, -np.inf, high)


def best_step(low: NDArray[Any], high: NDArray[Any]) -> float:
    """Return the middle of the range of steps that lies in most intervals.

    Examples
    --------
    >>> best_step(np.array([0.0, 1.0, 1.5]), np.array([2.0, 3.0, np.inf]))
    1.75
    """
    sound = low <= high
    starts, ends = np.sort(low[sound]), np.sort(high[sound])
    if not len(starts):
        return 0.0
    inside = np.arange(1, len(starts) + 1) - np.searchsorted(ends, starts, side="left")
    start = float(starts[int(np.argmax(inside))])
    after = [*starts[starts > start][:1], *ends[ends >= start][:1]]
    end = float(min(after)) if after else start
    return start if not np.isfinite(end) else (start + end) / 2


def directions(log: ClickLog, queries: Matrix, items: Matrix) -> tuple[Matrix, Matrix]:
    """Return what PEFA-XS adds (the mean of an item's queries, by clicks), and NUDGE's unit directions."""
    told = np.asarray(log.matrix.T @ queries, np.float32)
    weight = np.asarray(log.matrix.sum(axis=0)).reshape(-1, 1)
    lengths = np.linalg.norm(told, axis=1, keepdims=True)
    return told / np.maximum(weight, 1e-9), told / np.maximum(lengths, 1e-9)


def chosen_step(log: ClickLog, items: Matrix, encode: Callable[[Any], Matrix], which: int, cold: float) -> float:
    """Return the best step on held-out clicks."""
    split = next(log_splits(log, cold=cold, seed=0))
    added = directions(split.train, encode(split.train.take_queries(np.arange(len(split.train)))), items)[which]
    lows, highs = [], []
    held = split.held[:2000]
    for first in range(0, len(held), QUERIES_PER_BLOCK):
        some = held[first : first + QUERIES_PER_BLOCK]
        queries = encode(log.take_queries(some))
        answers = np.array([log.items[log.offsets[row]] for row in some], np.int64)
        low, high = intervals(queries @ items.T, queries @ added.T, answers)
        lows.append(low)
        highs.append(high)
    return best_step(np.concatenate(lows), np.concatenate(highs))


def rows_of(name: str) -> list[list[str]]:
    """Return the table's rows of a collection."""
    one = Collection(name)
    base, items = one.base(), one.vectors
    log = ClickLog.of(one.data, one.data.item_ids)
    encode = one.encoder.queries
    mean, unit = directions(log, encode(log.take_queries(np.arange(len(log)))), items)
    systems: dict[str, Any] = {"MiniLM": (base, ""), "PEFA-XS, default": (pefa_xs(base, one.data), "")}

    def moved(rows: Matrix) -> Any:
        return dense(one.data, one.encoder, vectors=np.ascontiguousarray(rows, np.float32))

    for label, cold in (("", 0.5), (", warm", 0.0)):
        share = chosen_step(log, items, encode, 0, cold)
        systems[f"PEFA-XS, exact search{label}"] = moved(items + share * mean), f"{share:.3f}"
        step = chosen_step(log, items, encode, 1, cold)
        systems[f"NUDGE-M{label}"] = moved(items + step * unit), f"{step:.3f}"
        onto = items + step * unit
        systems[f"NUDGE-N{label}"] = moved(onto / np.linalg.norm(onto, axis=1, keepdims=True)), f"{step:.3f}"
    return [
        [
            name,
            label,
            step,
            *(cell for split in SPLITS for cell in shown(recalls(one.data, system, split, (1, 10, 100)))),
        ]
        for label, (system, step) in systems.items()
    ]


HEADER = ["", "", "step", *(f"{split.removeprefix('test-')} R@{depth}" for split in SPLITS for depth in (1, 10, 100))]


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pefa_nudge", description=__doc__)
    parser.add_argument("--sets", nargs="+", default=["tldr", "squad-sent"])
    for name in parser.parse_args().sets:
        print(markdown_table(HEADER, rows_of(name)), flush=True)


if __name__ == "__main__":
    main()
