"""Evaluate a retriever or a run: quality and cost on judged queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.lazy import cached_property, import_extra
from vizsla._internal.provenance import provenance
from vizsla._internal.terminal import escape_control, markdown_table
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates
from vizsla.errors import InputError, check_choice, check_positive
from vizsla.evaluation.cost import Cost, cost_of, measured_ms, unknown_cost
from vizsla.evaluation.judgments import Judgments
from vizsla.evaluation.measures import (
    DEFAULT_MEASURES,
    JudgedQueries,
    Measuring,
    depth_needed,
    parse_measures,
    ranked_run,
)
from vizsla.evaluation.report import (
    COST_HEADER,
    cost_cells,
    html_table,
    json_text,
    latex_table,
    measure_cell,
    print_report,
    trec_tag,
    write_text,
)
from vizsla.evaluation.runs import System, check_answers, run_notes, run_of, system_name
from vizsla.evaluation.significance import Interval, mean_interval, share_bounds
from vizsla.io.trec import word


@dataclass(frozen=True)
class Evaluation:
    """Quality and cost of one system on one split.

    Parameters
    ----------
    name : str
        Name of the system in tables and files.
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
    provenance : mapping
        Version, commit, date, machine, seed, and a digest of the judged data.
    """

    name: str
    measures: Mapping[str, float]
    per_query: Mapping[str, NDArray[np.float64]]
    queries: JudgedQueries
    cost: Cost
    run: Candidates
    provenance: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

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

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What a run and the judgments do not know of each other: queries without an answer, items of no catalog."""
        return run_notes(self.run, self.queries)

    def interval(self, measure: str, *, level: float = 0.95) -> Interval:
        """Return the confidence interval of a measure's mean over queries, by Student's t distribution.

        Where all values are from 0 to 1, so is the interval.
        """
        check_choice("measure", measure, list(self.per_query))
        values = self.per_query[measure]
        return mean_interval(values, level=level, bounds=share_bounds(values))

    def to_dict(self) -> dict[str, Any]:
        """Return `{"measures": …, "cost": …}`."""
        return {"measures": dict(self.measures), "cost": self.cost.to_dict()}

    def to_json(self, path: str | Path | None = None) -> str:
        """Return measures, cost, intervals, notes and provenance by name as JSON; with `path`, also write it there."""
        return write_text(json_text(report_dict({self.name: self})), path)

    def to_pandas(self) -> Any:
        """Return a row per judged query with a column per measure, as a pandas frame."""
        return import_extra("pandas", "`to_pandas`", "pandas").DataFrame(self._columns())

    def to_polars(self) -> Any:
        """Return a row per judged query with a column per measure, as a polars frame."""
        return import_extra("polars", "`to_polars`", "polars").DataFrame(self._columns())

    def to_latex(self, path: str | Path | None = None) -> str:
        """Return a LaTeX table (booktabs); with `path`, also write it there."""
        return write_text(latex_table(*self._table()), path)

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
            f"{word(query)} Q0 {word(item)} {rank} {score:g} {tag}\n"
            for query, row in ranked_run(self.run).items()
            for rank, (item, score) in enumerate(row.items(), 1)
        ]
        return write_text("".join(lines), path)

    def show(self) -> None:
        """Print the table."""
        left_out = f", {self.unjudged} without judgments left out" if self.unjudged else ""
        print_report(*self._table(), title=f"{self.cost.queries} queries{left_out}")
        for note in self.notes:
            print(escape_control(note))

    def _repr_html_(self) -> str:
        return html_table(*self._table(), "\n".join(self.notes))

    def _columns(self) -> dict[str, Any]:
        return {"query": list(self.query_ids), **self.per_query}

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.4f}" for name, value in self.measures.items())
        return f"Evaluation({self.name!r}, {self.cost.queries} queries, {values})"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        row = [self.name, *map(measure_cell, self.measures.values()), *cost_cells(self.cost)]
        return ["system", *self.measures, *COST_HEADER], [row]


def report_dict(evaluations: Mapping[str, Evaluation]) -> dict[str, Any]:
    """Return what the JSON of evaluations holds, by system: measures, cost, intervals of 95 %, notes, provenance."""
    return {
        name: one.to_dict()
        | {
            "intervals": {measure: list(one.interval(measure)) for measure in one.measures},
            "notes": list(one.notes),
            "provenance": dict(one.provenance),
        }
        for name, one in evaluations.items()
    }


def evaluate(
    system: System,
    dataset: Any,
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
    system : Retriever, Candidates, dict, data frame or path
        What is measured: a retriever, or a run that is there already: Candidates, `{query id: {item id: score}}`, a
        data frame with the columns query, item and score, or a file in TREC format.
    dataset : Dataset, mapping, data frame or path
        Gives query texts and judgments. A run needs judgments only: `{query id: {item id: grade}}`, a data frame, or
        the path of a qrels file.
    split : str
        Which queries.
    measures : str or iterable
        Names of ir-measures, or its objects; and PSP@k, propensity-scored precision by the dataset's clicks.
    k : int, optional
        The depth of the answers; by default the deepest cutoff of the measures, 1000 for one without a cutoff. A run is
        taken as deep as it is.
    threads : int
        How many queries of the run are answered at a time. Single-query times always use one thread.
    latency_queries : int, optional
        How many queries are timed one by one; 0 for none. Unless given 200, but none where the run made model calls:
        to time them, they would all be made again.
    name : str, optional
        Name of the system in tables and files; by default its kind, or the run's file name.
    seed : int
        Draws the queries that are timed.
    """
    parsed = parse_measures(measures)
    depth = _depth(parsed, k)
    queries = JudgedQueries.of(dataset, split)
    measuring = Measuring(parsed, queries.qrels, queries.source)
    if isinstance(system, Retriever):
        _check_texts(queries)
        run, cost = _asked(system, queries, depth, threads, latency_queries, seed)
    else:
        run, cost = _given(system, queries, split, k)
    means, per_query = measuring(run)
    made = provenance(seed=seed, data=queries.digest, split=split)
    return Evaluation(name or system_name(system), means, per_query, queries, cost, run, made)


def _check_texts(queries: JudgedQueries) -> None:
    if isinstance(queries.source, Judgments) and not queries.source.has_texts:
        raise InputError(
            "`dataset` must have the texts of the queries, to ask a retriever. Got judgments alone: pass a Dataset, or "
            "evaluate a run."
        )


def _asked(
    retriever: Retriever, queries: JudgedQueries, depth: int, threads: int, timed: int | None, seed: int
) -> tuple[Candidates, Cost]:
    """Search, and time single queries."""
    most = min(depth, max(len(retriever.items), 1))
    run = retriever(queries.texts, most, threads=threads).with_query_ids(queries.ids)
    ms = measured_ms(retriever, queries.texts, most, run, sample=timed, seed=seed)
    return run, cost_of(retriever, run, ms)


def _given(system: Any, queries: JudgedQueries, split: str, k: int | None) -> tuple[Candidates, Cost]:
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
