"""What can be measured: a retriever, or a run that somebody else's program made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from vizsla.candidates import Candidates
from vizsla.errors import InputError
from vizsla.evaluate.judged import JudgedQueries
from vizsla.evaluate.run_order import in_run_order
from vizsla.io.trec_run import read_answers
from vizsla.retriever import Retriever

Run: TypeAlias = Candidates | Mapping[str, Mapping[str, float]] | str | Path
"""Answers that are there already: Candidates, `{query id: {item id: score}}`, or the path of a TREC run."""

System: TypeAlias = Retriever | Run


def run_of(system: Run) -> Candidates:
    """Return a run as Candidates, whatever form it came in.

    Examples
    --------
    >>> run_of({"q1": {"fig": 1.0, "pear": 2.0}}).ids
    [['pear', 'fig']]
    """
    if isinstance(system, Candidates):
        return system
    if isinstance(system, Mapping):
        return in_run_order(system)
    if isinstance(system, str | os.PathLike):
        return in_run_order(read_answers(system))
    raise InputError(
        "A system must be a Retriever, Candidates, a dict {query id: {item id: score}}, or the path of a TREC run. "
        f"Got {type(system).__name__}."
    )


def check_answers(run: Candidates, queries: JudgedQueries, split: str) -> None:
    """Raise unless the run answers at least one judged query: else its query ids belong to other data."""
    if not set(queries.qrels).intersection(run.query_ids):
        given = f"to {run.query_ids[0]!r} and the like" if len(run) else "to no query"
        raise InputError(
            f"A run must answer judged queries of split {split!r}, such as {queries.ids[0]!r}. Got answers {given}: "
            "name its queries by the dataset's ids (`Candidates.with_query_ids`)."
        )


def answers_of(system: System, queries: JudgedQueries, depth: int, *, threads: int = 1) -> list[list[str]]:
    """Return what a system finds at a depth, one list of item ids for each judged query."""
    if isinstance(system, Retriever):
        return system(queries.texts, depth, threads=threads).ids
    return rows_of(run_of(system), queries, depth)


def rows_of(run: Candidates, queries: JudgedQueries, depth: int) -> list[list[str]]:
    """Return a run's best item ids for each judged query; none for a query that it does not answer."""
    found = dict(zip(run.query_ids, run.ids, strict=True))
    return [found.get(query, [])[:depth] for query in queries.ids]
