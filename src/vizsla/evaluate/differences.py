"""The queries on which two systems differ most, with both answers side by side."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from vizsla.evaluate.evaluation import Evaluation
from vizsla.evaluate.report import measure_cell
from vizsla.evaluate.system import rows_of
from vizsla.printable import printable
from vizsla.short_text import short_text
from vizsla.tables import print_table

RELEVANT = "✓"


@dataclass(frozen=True)
class Difference:
    """One query, and what two systems answered to it.

    Parameters
    ----------
    query, text : str
        The query's id and its text.
    measure : str
        What the systems differ by.
    names : pair of str
        The systems.
    values : pair of float
        The measure of each one's answer.
    answers : pair of lists
        The best item ids of each, best first.
    grades : dict
        The query's judged items.
    """

    query: str
    text: str
    measure: str
    names: tuple[str, str]
    values: tuple[float, float]
    answers: tuple[list[str], list[str]]
    grades: dict[str, int]

    def show(self) -> None:
        """Print both answers; relevant items are ticked."""
        values = ", ".join(f"{name} {measure_cell(value)}" for name, value in zip(self.names, self.values, strict=True))
        ticked = ([self._ticked(item) for item in answer] for answer in self.answers)
        rows = [[str(rank), a, b] for rank, (a, b) in enumerate(zip_longest(*ticked, fillvalue=""), 1)]
        print(printable(f"{self.query}: {short_text(self.text)}  ({self.measure}: {values})"))
        print_table(["rank", *self.names], rows or [["–", "", ""]])

    def _ticked(self, item: str) -> str:
        return f"{RELEVANT} {item}" if self.grades.get(item, 0) > 0 else f"  {item}"


def largest_differences(a: Evaluation, b: Evaluation, measure: str, count: int, *, depth: int = 5) -> list[Difference]:
    """Return the queries on which two systems differ most by a measure, the largest difference first.

    Parameters
    ----------
    a, b : Evaluation
        Of the same queries.
    measure : str
        What they differ by.
    count : int
        How many queries at most; those on which both are equal are left out.
    depth : int
        How many items of each answer are shown.
    """
    gaps = np.abs(np.nan_to_num(a.per_query[measure] - b.per_query[measure]))
    chosen = [int(row) for row in np.argsort(-gaps, kind="stable")[:count] if gaps[row] > 0]
    answers = [rows_of(one.run, one.queries, depth) for one in (a, b)]
    return [
        Difference(
            a.queries.ids[row],
            a.queries.texts[row],
            measure,
            (a.name, b.name),
            (float(a.per_query[measure][row]), float(b.per_query[measure][row])),
            (answers[0][row], answers[1][row]),
            a.queries.qrels[a.queries.ids[row]],
        )
        for row in chosen
    ]
