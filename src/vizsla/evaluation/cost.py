"""What answering costs: time for one query, bytes of the index, scorer calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates
from vizsla.core.catalog import Excerpt
from vizsla.core.validation import generator
from vizsla.errors import BudgetError, InputError

WARM_UP_QUERIES = 10
TIMED_QUERIES = 200


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a system's answers; None where it is unknown, as for runs of other programs.

    Parameters
    ----------
    ms_p50, ms_p99 : float or None
        Median and 99th percentile of the milliseconds that one query takes when it comes alone; None when no
        time was taken.
    bytes : int or None
        Bytes that answering needs, models' weights included, without the items' ids and texts.
    scored : float or None
        (query, item) pairs a query that were scored one by one by arithmetic.
    model_calls : float or None
        (query, item) pairs a query that went to a model, such as a cross-encoder.
    queries : int
        Queries that were evaluated.
    items : int
        Items that can be found.
    ms_quartiles : pair of float, optional
        Between these lies the middle half of the measured times: how sure `ms_p50` is.

    Examples
    --------
    >>> Cost(ms_p50=0.2, ms_p99=0.9, bytes=6400, scored=0.0, model_calls=0.0, queries=50, items=100).bytes_per_item
    64.0
    """

    ms_p50: float | None
    ms_p99: float | None
    bytes: int | None
    scored: float | None
    model_calls: float | None
    queries: int
    items: int
    ms_quartiles: tuple[float, float] | None = None

    @property
    def bytes_per_item(self) -> float | None:
        """These bytes divided by the items; what is there once, such as a model, has its share in each."""
        return None if self.bytes is None else self.bytes / max(self.items, 1)

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
    quartiles = (float(np.percentile(ms, 25)), float(np.percentile(ms, 75))) if len(ms) else None
    scored, calls = (float(count / max(len(run), 1)) for count in (run.stats.scored, run.stats.model_calls))
    return Cost(p50, p99, int(retriever.nbytes), scored, calls, len(run), len(retriever.items), quartiles)


def unknown_cost(run: Candidates, queries: int) -> Cost:
    """Return the cost of a run that is given: unknown."""
    whole = run.catalog is not None and not isinstance(run.catalog, Excerpt)
    items = len(run.catalog) if whole else 0  # type: ignore[arg-type]
    return Cost(None, None, None, None, None, queries, items)


def measured_ms(
    retriever: Retriever, texts: Sequence[str], k: int, run: Candidates, *, sample: int | None, seed: int
) -> NDArray[np.float64]:
    """Time single queries once the run is there, but never make additional model calls for it.

    Parameters
    ----------
    retriever, texts, k, seed
        As for `single_query_ms`.
    run : Candidates
        The answers to all queries; its statistics say whether models were called.
    sample : int or None
        How many queries are timed; None for 200, or for none where the run made model calls. Times that a Budget does
        not cover are left out: what the run has cost is not lost.
    """
    if sample is None:
        sample = 0 if run.stats.model_calls else TIMED_QUERIES
    try:
        return single_query_ms(retriever, texts, k, sample=sample, seed=seed)
    except BudgetError:
        return np.zeros(0, np.float64)


def single_query_ms(
    retriever: Retriever, texts: Sequence[str], k: int, *, sample: int = TIMED_QUERIES, seed: int = 0
) -> NDArray[np.float64]:
    """Time single-query calls on a random sample of the queries, after a warm-up, on one thread.

    Parameters
    ----------
    retriever : Retriever
        The retriever to time.
    texts : sequence of str
        The queries to draw from.
    k : int
        The depth of the answers.
    sample : int
        How many queries are timed at most; 0 for none.
    seed : int
        Draws the sample, so that every system is timed on the same queries.
    """
    if isinstance(sample, bool) or not isinstance(sample, int | np.integer) or sample < 0:
        raise InputError(f"`latency_queries` must be 0 or more. Got {sample!r}.")
    chosen = generator(seed).permutation(len(texts))[:sample].tolist()
    for row in chosen[:WARM_UP_QUERIES]:
        retriever(texts[row], k)
    return np.array([_ms(retriever, texts[row], k) for row in chosen], dtype=np.float64)


def _ms(retriever: Retriever, text: str, k: int) -> float:
    start = perf_counter()
    retriever(text, k)
    return (perf_counter() - start) * 1e3
