"""Which of BLAS's threads did anything: counted by how often the system let each of them run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from vizsla._internal.blas import loaded_pool
from vizsla.base.retriever import Retriever
from vizsla.methods.bm25 import bm25
from vizsla.methods.cur import adacur, anncur, residual_cur, score_anchors
from vizsla.scorers.text import FunctionScorer

WORKERS = 2
ITEMS = {str(number): f"word{number} word{number % 7}" for number in range(700)}
SCORES = np.random.default_rng(0).standard_normal((256, len(ITEMS))).astype(np.float32)


def tasks() -> set[str]:
    """Return the threads of this process."""
    return {task.name for task in Path("/proc/self/task").iterdir()}


def switches(workers: set[str]) -> list[int]:
    """Return how often each thread was given up or taken off a CPU; one that sleeps is not."""
    return [sum(int(line.split()[1]) for line in status(task) if "ctxt_switches" in line) for task in sorted(workers)]


def status(task: str) -> list[str]:
    """Return what the system tells of a thread."""
    return Path(f"/proc/self/task/{task}/status").read_text().splitlines()


def all_asleep(workers: set[str]) -> bool:
    """Whether none of them runs or waits for a CPU."""
    return all(line.split()[1] == "S" for task in workers for line in status(task) if line.startswith("State:"))


def at_rest(workers: set[str]) -> list[int]:
    """Wait until none of them runs any more: they wait for more work for a while before they sleep."""
    for _ in range(600):
        before = switches(workers)
        time.sleep(0.1)
        if all_asleep(workers) and switches(workers) == before:
            return before
    sys.exit("BLAS's threads never came to rest")


def awake(workers: set[str], work: Callable[[], object]) -> int:
    """Return how many of them have run during some work."""
    before = at_rest(workers)
    work()
    return sum(now != then for now, then in zip(at_rest(workers), before, strict=True))


def scorer() -> FunctionScorer:
    def scores(query: str, texts: list[str]) -> list[float]:
        return SCORES[int(query) % len(SCORES), [int(text.split()[0][4:]) for text in texts]].tolist()

    return FunctionScorer(scores, ITEMS)


def main() -> None:
    """Print how many of BLAS's threads ran: unbounded, in a fit, and in searches."""
    pool, ask, words = loaded_pool(), scorer(), bm25(ITEMS)
    assert pool is not None
    before = tasks()
    pool.set(WORKERS)
    ran = partial(awake, tasks() - before)
    print("product", ran(lambda: SCORES @ SCORES.T))
    anchors = score_anchors(ask, [str(number) for number in range(len(SCORES))], storage="float32")
    plan = {"budget": 300, "rounds": 3}
    fits: dict[str, Retriever] = {}
    fit = partial(residual_cur, ask, anchors, words, rank=64, ridge=0.1, basis="scores", **plan)
    print("fit", ran(lambda: fits.update(residual=fit())))
    fits |= {"adacur": adacur(ask, anchors, **plan), "pinv": adacur(ask, anchors, ridge=0, **plan)}
    fits |= {"anncur": anncur(ask, anchors, budget=300)}
    print("searches", ran(lambda: [search(["3", "5"], 20) for search in fits.values()]))
    print("left", pool.get())


if __name__ == "__main__":
    main()
