"""Evaluation: how good and how dear one system's answers are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates
from vizsla.evaluate.cost import Cost
from vizsla.evaluate.judged import JudgedQueries
from vizsla.evaluate.measuring import ranked_run
from vizsla.evaluate.report import COST_HEADER, cost_cells, json_text, measure_cell, print_report, trec_tag
from vizsla.evaluate.write import write_text
from vizsla.tables import markdown_table


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
        The judged queries, with their texts and judgements.
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
        left_out = f", {self.unjudged} without judgements left out" if self.unjudged else ""
        print_report(*self._table(), title=f"{self.cost.queries} queries{left_out}")

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.4f}" for name, value in self.measures.items())
        return f"Evaluation({self.name!r}, {self.cost.queries} queries, {values})"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        row = [self.name, *map(measure_cell, self.measures.values()), *cost_cells(self.cost)]
        return ["system", *self.measures, *COST_HEADER], [row]
