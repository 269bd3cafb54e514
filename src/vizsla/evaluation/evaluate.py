"""Evaluate a retriever or a run: quality and cost on judged queries."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.terminal import markdown_table
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates
from vizsla.errors import InputError, check_positive
from vizsla.evaluation.cost import Cost, cost_of, measured_ms, unknown_cost
from vizsla.evaluation.measures import (
    DEFAULT_MEASURES,
    JudgedQueries,
    JudgedSplits,
    Measuring,
    depth_needed,
    parse_measures,
    ranked_run,
)
from vizsla.evaluation.report import (
    COST_HEADER,
    cost_cells,
    json_text,
    measure_cell,
    print_report,
    trec_tag,
    write_text,
)
from vizsla.io.trec import read_answers


def in_run_order(answers: Mapping[str, Mapping[str, float]]) -> Candidates:
    """Return answers ranked by score, items of equal scores in the order in which they are given.

    Candidates rank such items by number, which in a run says nothing: its items are numbered as queries before
    happened to find them. So equal scores are set apart by the least step that float32 has.

    Examples
    --------
    >>> in_run_order({"q1": {"fig": 1.0, "pear": 1.0}, "q2": {"pear": 2.0, "fig": 2.0}}).ids
    [['fig', 'pear'], ['pear', 'fig']]
    """
    run = Candidates.from_dict(answers)
    if not _has_ties(run):
        return run
    return Candidates.from_dict({query: _set_apart(row) for query, row in answers.items()})


def _has_ties(run: Candidates) -> bool:
    if run.scores is None or len(run.scores) < 2:
        return False
    same = np.diff(run.scores) == 0
    firsts = run.offsets[(run.offsets > 0) & (run.offsets < len(run.scores))]
    same[firsts - 1] = False  # the last of a query and the first of the next
    return bool(same.any())


def _set_apart(row: Mapping[str, float]) -> dict[str, float]:
    given = np.array(list(row.values()), np.float64)
    places = np.argsort(-given, kind="stable")
    scores, items = given[places].astype(np.float32), list(row)
    for at in range(1, len(scores)):
        scores[at] = min(scores[at], np.nextafter(scores[at - 1], np.float32(-np.inf)))
    return {items[place]: float(score) for place, score in zip(places, scores, strict=True)}


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


@dataclass(frozen=True)
class Evaluation:
    """Quality and cost of one system on one split.

    Parameters
    ----------
    name : str
        What the system is called in tables and files.
    measures : mapping
        Each measure's mean over the judged queries.
    per_query : mapping
        Each measure's values, one for each of `query_ids`; NaN where a measure is not defined for a query.
    queries : JudgedQueries
        The judged queries, with their texts and judgments.
    cost : Cost
        Time, bytes and scorer calls.
    run : Candidates
        The answers that were measured.
    """

    name: str
    measures: Mapping[str, float]
    per_query: Mapping[str, NDArray[np.float64]]
    queries: JudgedQueries
    cost: Cost
    run: Candidates

    @property
    def query_ids(self) -> list[str]:
        """The judged queries' ids."""
        return self.queries.ids

    @property
    def unjudged(self) -> int:
        """Queries of the split that were left out because nothing is known about them."""
        return self.queries.unjudged

    @property
    def unanswered(self) -> int:
        """Judged queries that the run does not name; they count as 0."""
        return len(set(self.queries.ids).difference(self.run.query_ids))

    def to_dict(self) -> dict[str, Any]:
        """Return `{"measures": …, "cost": …}`."""
        return {"measures": dict(self.measures), "cost": self.cost.to_dict()}

    def to_json(self, path: str | Path | None = None) -> str:
        """Return `{name: {"measures": …, "cost": …}}` as JSON; with `path`, also write it there."""
        return write_text(json_text({self.name: self.to_dict()}), path)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Return a Markdown table; with `path`, also write it there."""
        return write_text(f"{markdown_table(*self._table())}\n", path)

    def to_trec(self, path: str | Path | None = None, *, by_rank: bool = False) -> str:
        """Return the TREC run as text; with `path`, also write it there.

        Parameters
        ----------
        path : path, optional
            The file to write.
        by_rank : bool
            Write scores that fall by one a rank instead of the retriever's own. Other evaluators break ties by
            item id; without ties they measure the very order that was measured here.
        """
        tag = trec_tag(self.name)
        if not by_rank:
            return write_text(self.run.to_trec(tag=tag), path)
        lines = [
            f"{query} Q0 {item} {rank} {score:g} {tag}\n"
            for query, row in ranked_run(self.run).items()
            for rank, (item, score) in enumerate(row.items(), 1)
        ]
        return write_text("".join(lines), path)

    def show(self) -> None:
        """Print the table."""
        left_out = f", {self.unjudged} without judgments left out" if self.unjudged else ""
        print_report(*self._table(), title=f"{self.cost.queries} queries{left_out}")

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.4f}" for name, value in self.measures.items())
        return f"Evaluation({self.name!r}, {self.cost.queries} queries, {values})"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        row = [self.name, *map(measure_cell, self.measures.values()), *cost_cells(self.cost)]
        return ["system", *self.measures, *COST_HEADER], [row]


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
        Gives query texts and judgments.
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
    """Return a system's name when none is given.

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
