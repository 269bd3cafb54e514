"""Measure one retriever on the judged queries of a split."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vizsla.errors import InputError, check_positive
from vizsla.evaluate.cost import cost_of, measured_ms
from vizsla.evaluate.evaluation import Evaluation
from vizsla.evaluate.judged import JudgedQueries, JudgedSplits
from vizsla.evaluate.measures import DEFAULT_MEASURES, depth_needed, parse_measures
from vizsla.evaluate.measuring import Measuring
from vizsla.retriever import Retriever


def evaluate(
    retriever: Retriever,
    dataset: JudgedSplits,
    split: str = "test",
    measures: str | Iterable[Any] = DEFAULT_MEASURES,
    *,
    k: int | None = None,
    threads: int = 1,
    latency_queries: int | None = None,
    name: str | None = None,
    seed: int = 0,
) -> Evaluation:
    """Answer the judged queries of a split, measure the answers, and time single queries.

    Parameters
    ----------
    retriever : Retriever
        What is measured.
    dataset : Dataset
        Gives query texts and judgements.
    split : str
        Which queries.
    measures : str or iterable
        Names of ir-measures, or its objects.
    k : int, optional
        The depth of the answers; by default the deepest cutoff of the measures, 1000 for one without a cutoff.
    threads : int
        How many queries of the run are answered at a time. Single-query times always use one thread.
    latency_queries : int, optional
        How many queries are timed one by one; 0 for none. Unless given 200, but none where the run made model calls:
        to time them, they would all be made again.
    name : str, optional
        What the retriever is called in tables and files; by default its kind.
    seed : int
        Draws the queries that are timed.
    """
    parsed = parse_measures(measures)
    depth = min(_depth(parsed, k), max(len(retriever.items), 1))
    queries = JudgedQueries.of(dataset, split)
    measuring = Measuring(parsed, queries.qrels)
    run = retriever(queries.texts, depth, threads=threads).with_query_ids(queries.ids)
    means, per_query = measuring(run)
    ms = measured_ms(retriever, queries.texts, depth, run, sample=latency_queries, seed=seed)
    called = name or str(getattr(retriever, "kind", type(retriever).__name__))
    return Evaluation(called, means, per_query, queries.ids, cost_of(retriever, run, ms), run, queries.unjudged)


def _depth(measures: list[Any], k: int | None) -> int:
    needed = depth_needed(measures)
    if k is None:
        return needed
    cutoffs = [measure for measure in measures if measure.params.get("cutoff", 0) > check_positive("k", k)]
    if cutoffs:
        raise InputError(f"`k` must reach the deepest cutoff. Got {k} for {cutoffs[0]}: leave it out.")
    return k
