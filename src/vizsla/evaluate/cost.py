"""What answering costs: time for one query, bytes of the index, scorer calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from vizsla.arguments import generator
from vizsla.candidates import Candidates
from vizsla.errors import InputError
from vizsla.retriever import Retriever

WARM_UP_QUERIES = 10


@dataclass(frozen=True, slots=True)
class Cost:
    """What a retriever's answers cost.

    Parameters
    ----------
    ms_p50, ms_p99 : float or None
        Median and 99th percentile of the milliseconds that one query takes when it comes alone; None when no
        time was taken.
    bytes : int
        Bytes that answering needs, without the item ids.
    scored : float
        (query, item) pairs a query that were scored one by one by arithmetic.
    model_calls : float
        (query, item) pairs a query that went to a model, such as a cross-encoder.
    queries : int
        Queries that were evaluated.
    items : int
        Items that can be found.

    Examples
    --------
    >>> Cost(ms_p50=0.2, ms_p99=0.9, bytes=6400, scored=0.0, model_calls=0.0, queries=50, items=100).bytes_per_item
    64.0
    """

    ms_p50: float | None
    ms_p99: float | None
    bytes: int
    scored: float
    model_calls: float
    queries: int
    items: int

    @property
    def bytes_per_item(self) -> float:
        """Bytes of the index divided by the items in it."""
        return self.bytes / max(self.items, 1)

    def to_dict(self) -> dict[str, float | None]:
        """Return what `--json` writes."""
        return {
            "ms_p50": self.ms_p50,
            "ms_p99": self.ms_p99,
            "bytes": self.bytes,
            "scored": self.scored,
            "model_calls": self.model_calls,
            "queries": self.queries,
        }


def cost_of(retriever: Retriever, run: Candidates, ms: NDArray[np.float64]) -> Cost:
    """Sum up a run's cost and the times of single queries."""
    p50, p99 = np.percentile(ms, [50, 99]).tolist() if len(ms) else (None, None)
    scored, calls = (float(count / max(len(run), 1)) for count in (run.stats.scored, run.stats.model_calls))
    return Cost(p50, p99, int(retriever.nbytes), scored, calls, len(run), len(retriever.items))


def single_query_ms(
    retriever: Retriever, texts: Sequence[str], k: int, *, sample: int = 200, seed: int = 0
) -> NDArray[np.float64]:
    """Time single-query calls on a random sample of the queries, after a warm-up, on one thread.

    Parameters
    ----------
    retriever : Retriever
        What is timed.
    texts : sequence of str
        The queries to draw from.
    k : int
        The depth of the answers.
    sample : int
        How many queries are timed at most; 0 for none.
    seed : int
        Draws the sample, so that every system is timed on the same queries.
    """
    if sample < 0:
        raise InputError(f"`latency_queries` must be 0 or more. Got {sample!r}.")
    chosen = generator(seed).permutation(len(texts))[:sample].tolist()
    for row in chosen[:WARM_UP_QUERIES]:
        retriever(texts[row], k)
    return np.array([_ms(retriever, texts[row], k) for row in chosen], dtype=np.float64)


def _ms(retriever: Retriever, text: str, k: int) -> float:
    start = perf_counter()
    retriever(text, k)
    return (perf_counter() - start) * 1e3
