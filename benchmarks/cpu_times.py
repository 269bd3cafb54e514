"""CPU time of single queries and of batches: rounds in which all contestants take turns, and medians."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import thread_time_ns

import numpy as np


def single_query_us(
    contestants: Mapping[str, Callable[[str], object]], texts: Sequence[str], *, rounds: int
) -> dict[str, float]:
    """Return each contestant's microseconds a query.

    A query's least time over the rounds is what it takes when nobody disturbs; the median is over the queries.
    """
    least = {name: np.full(len(texts), np.inf) for name in contestants}
    for _ in range(rounds):
        for name, call in contestants.items():
            for number, text in enumerate(texts):
                start = thread_time_ns()
                call(text)
                least[name][number] = min(least[name][number], thread_time_ns() - start)
    return {name: float(np.median(times)) / 1e3 for name, times in least.items()}


def batch_us(contestants: Mapping[str, Callable[[], object]], queries: int, *, rounds: int) -> dict[str, float]:
    """Return each contestant's microseconds a query when a whole batch is asked at once: the median of the rounds.

    A batch is so long that hardly one of a few rounds is undisturbed: the least of them is chance. The order of turns
    changes from round to round: whom one follows decides what is in the caches.
    """
    times: dict[str, list[int]] = {name: [] for name in contestants}
    names, pick = list(contestants), np.random.default_rng(0)
    for _ in range(rounds):
        for name in pick.permutation(names).tolist():
            start = thread_time_ns()
            contestants[name]()
            times[name].append(thread_time_ns() - start)
    return {name: float(np.median(passed)) / queries / 1e3 for name, passed in times.items()}
