"""The best k by a weighted sum of what several parts find; only scores that can matter are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.candidates import Candidates, Scores
from vizsla.compose.catalogues import Aligned
from vizsla.filter import Filter
from vizsla.queries import Queries
from vizsla.retriever import Retriever
from vizsla.stats import Stats
from vizsla.strings import Strings

_NO_COST = Stats()


def fused(
    parts: Sequence[Aligned[Retriever]],
    weights: Sequence[float],
    queries: Queries,
    k: int,
    depth: int,
    filter: Filter | None,
    threads: int,
) -> Candidates:
    """Search every part to `depth`, let each score what it lacks and what could be among the best, and add up.

    The answer is exact if every part's is and no item outside of all lists can reach the k-th sum.
    """
    found = [part.search(queries, depth, filter, threads) for part in parts]
    ceilings = [part.ceilings(queries, side) for part, side in zip(parts, found, strict=True)]
    lists = [(side.offsets, side.items, side._required_scores()) for side in found]
    total = _native.WeightedSum(lists, weights, ceilings, k)
    stats = reduce(Stats.__add__, [side.stats for side in found])
    exact = stats.exact
    while (wanted := total.wanted()) is not None:
        for number, lacking in enumerate(wanted):  # type: ignore[arg-type, var-annotated]
            if lacking is not None:
                scored = parts[number].score(queries, _matches(lacking, parts[number].merged), filter, threads)
                total.fill(number, scored.scores)
                stats = stats + scored.stats
    offsets, items, scores, certain = total.best()
    return Candidates.trusted(
        np.frombuffer(offsets, np.int64),
        np.frombuffer(items, np.int32),
        np.frombuffer(scores, np.float32),
        parts[0].merged,
        stats.with_exact(exact and certain == len(queries)),
    )


def weighted_sum(weights: Sequence[float], columns: Sequence[Scores]) -> Scores:
    """Add columns in order, in float64, and round once, as the native sum does.

    Examples
    --------
    >>> weighted_sum([0.5, 2.0], [np.float32([1, 2]), np.float32([3, 4])]).tolist()
    [6.5, 9.0]
    """
    total: NDArray[np.float64] = np.zeros(len(columns[0]), np.float64)
    for weight, column in zip(weights, columns, strict=True):
        total += weight * column.astype(np.float64)
    return total.astype(np.float32)


def _matches(lacking: tuple[bytes, bytes], catalogue: Strings) -> Candidates:
    offsets, items = lacking
    numbers = np.frombuffer(items, np.int32)
    return Candidates.trusted(np.frombuffer(offsets, np.int64), numbers, None, catalogue, _NO_COST)
