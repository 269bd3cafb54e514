"""Completion: time per prefix among 100,000 and 1,000,000 entries, with and without typos.

``python -m benchmarks.completion`` makes titles of one to four words of the vocabulary of `benchmarks.typos`, weighted
by a power law, and types prefixes of 1 to 12 characters of random entries, half of them with one random edit.
"""

from __future__ import annotations

import random
from time import process_time_ns

import numpy as np

from benchmarks.typos import edited, vocabulary
from vizsla.text.completion import Completer


def entries(size: int, *, seed: int = 0) -> dict[str, float]:
    """Return so many distinct titles and what they weigh."""
    rng, words = random.Random(seed), vocabulary(100_000)
    made: dict[str, float] = {}
    while len(made) < size:
        title = " ".join(words[int(len(words) * rng.random() ** 3)] for _ in range(rng.randint(1, 4)))
        made[title] = 1 / (len(made) + 1)
    return made


def measure(size: int, *, prefixes: int = 3000, seed: int = 1) -> list[str]:
    """Return rows of a table: CPU time per call by what was typed."""
    rng, weights = random.Random(seed), entries(size)
    start = process_time_ns()
    complete = Completer.from_weights(weights)
    seconds, per_entry = (process_time_ns() - start) / 1e9, complete.nbytes / len(complete)
    titles, rows = list(weights), []
    for name, typo in (("as written", False), ("one typo", True)):
        times = []
        for _ in range(prefixes):
            typed = rng.choice(titles)[: rng.randint(4 if typo else 1, 12)]
            typed = edited(typed, rng) if typo else typed
            begin = process_time_ns()
            complete(typed, 8)
            times.append((process_time_ns() - begin) / 1e3)
        low, high, most = np.percentile(times, [50, 99, 100])
        rows.append(
            f"| {size:,} | {name} | {np.mean(times):.0f} | {low:.0f} | {high:.0f} | {most:.0f} "
            f"| {per_entry:.0f} | {seconds:.1f} |"
        )
    return rows


def main() -> None:
    """Print the table."""
    print("| entries | prefix | mean µs | p50 | p99 | max | bytes/entry | build s |")
    print("|---:|---|---:|---:|---:|---:|---:|---:|")
    for size in (100_000, 1_000_000):
        print("\n".join(measure(size)), flush=True)


if __name__ == "__main__":
    main()
