"""Measure one system on the judged queries of a split."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from vizsla.candidates import Candidates
from vizsla.errors import InputError, check_positive
from vizsla.evaluate.cost import Cost, cost_of, measured_ms, unknown_cost
from vizsla.evaluate.evaluation import Evaluation
from vizsla.evaluate.judged import JudgedQueries, JudgedSplits
from vizsla.evaluate.measures import DEFAULT_MEASURES, depth_needed, parse_measures
from vizsla.evaluate.measuring import Measuring
from vizsla.evaluate.system import Run, System, check_answers, run_of
from vizsla.retriever import Retriever


def evaluate(
    system: System,
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
    """Measure the answers to the judged queries of a split; a retriever is asked for them, and timed.

    Parameters
    ----------
    system : Retriever, Candidates, dict or path
        What is measured: a retriever, or a run that is there already: Candidates, `{query id: {item id: score}}`, or a
        file in TREC format.
    dataset : Dataset
        Gives query texts and judgements.
    split : str
        Which queries.
    measures : str or iterable
        Names of ir-measures, or its objects.
    k : int, optional
        The depth of the answers; by default the deepest cutoff of the measures, 1000 for one without a cutoff. A run is
        taken as deep as it is.
    threads : int
        How many queries of the run are answered at a time. Single-query times always use one thread.
    latency_queries : int, optional
        How many queries are timed one by one; 0 for none. Unless given 200, but none where the run made model calls:
        to time them, they would all be made again.
    name : str, optional
        What the system is called in tables and files; by default its kind, or the run's file name.
    seed : int
        Draws the queries that are timed.
    """
    parsed = parse_measures(measures)
    depth = _depth(parsed, k)
    queries = JudgedQueries.of(dataset, split)
    measuring = Measuring(parsed, queries.qrels)
    if isinstance(system, Retriever):
        run, cost = _asked(system, queries, depth, threads, latency_queries, seed)
    else:
        run, cost = _given(system, queries, split, k)
    means, per_query = measuring(run)
    return Evaluation(name or system_name(system), means, per_query, queries, cost, run)


def system_name(system: System) -> str:
    """Return what a system is called when nobody names it.

    Examples
    --------
    >>> system_name("runs/bm25.run.gz"), system_name({"q": {"fig": 1.0}})
    ('bm25', 'run')
    """
    if isinstance(system, str | Path):
        return re.sub(r"(\.(run|trec|txt))?(\.gz)?$", "", Path(system).name) or "run"
    return str(getattr(system, "kind", type(system).__name__)) if isinstance(system, Retriever) else "run"


def _asked(
    retriever: Retriever, queries: JudgedQueries, depth: int, threads: int, timed: int | None, seed: int
) -> tuple[Candidates, Cost]:
    """Search, and time single queries."""
    most = min(depth, max(len(retriever.items), 1))
    run = retriever(queries.texts, most, threads=threads).with_query_ids(queries.ids)
    ms = measured_ms(retriever, queries.texts, most, run, sample=timed, seed=seed)
    return run, cost_of(retriever, run, ms)


def _given(system: Run, queries: JudgedQueries, split: str, k: int | None) -> tuple[Candidates, Cost]:
    """Take a run as it is."""
    run = run_of(system)
    check_answers(run, queries, split)
    return run if k is None else run.top(k), unknown_cost(run, len(queries.ids))


def _depth(measures: list[Any], k: int | None) -> int:
    needed = depth_needed(measures)
    if k is None:
        return needed
    cutoffs = [measure for measure in measures if measure.params.get("cutoff", 0) > check_positive("k", k)]
    if cutoffs:
        raise InputError(f"`k` must reach the deepest cutoff. Got {k} for {cutoffs[0]}: leave it out.")
    return k
