"""OverlapMatrix: which relevant items each of several systems finds that each other one misses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError
from vizsla.evaluate.judged import JudgedQueries
from vizsla.evaluate.report import json_text
from vizsla.evaluate.write import write_text
from vizsla.tables import markdown_table, print_table


@dataclass(frozen=True)
class OverlapMatrix:
    """Who finds what, for all pairs of systems in one table.

    Parameters
    ----------
    names : sequence of str
        The systems.
    k : int
        The depth of their match sets.
    found : array of bool
        Systems × relevant (query, item) pairs: whether the system finds the pair.

    Examples
    --------
    >>> seen = OverlapMatrix(["a", "b"], 10, np.array([[True, True, False, False], [True, False, True, False]]))
    >>> seen.recall("a"), seen.missed_by("a", "b"), seen.alone("b"), seen.recall_union
    (0.5, 0.25, 0.25, 0.75)
    """

    names: Sequence[str]
    k: int
    found: NDArray[np.bool_]

    @classmethod
    def of(cls, answers: Mapping[str, Sequence[Sequence[str]]], queries: JudgedQueries, k: int) -> OverlapMatrix:
        """Look for every relevant pair in the systems' answers, which have one row for each judged query."""
        found = np.array([_pairs_found(system, queries) for system in answers.values()], np.bool_)
        if not found.size:
            raise InputError("An overlap needs systems, and relevant items to look for. Got none.")
        return cls(list(answers), k, found)

    @property
    def relevant(self) -> int:
        """All relevant pairs."""
        return int(self.found.shape[1])

    @property
    def recall_union(self) -> float:
        """The share of relevant pairs that at least one system finds."""
        return float(self.found.any(axis=0).mean())

    def recall(self, name: str) -> float:
        """Return the share of relevant pairs that a system finds."""
        return float(self._row(name).mean())

    def missed_by(self, name: str, other: str) -> float:
        """Return the share that a system finds and another misses: what it would add to the other."""
        return float((self._row(name) & ~self._row(other)).mean())

    def alone(self, name: str) -> float:
        """Return the share that a system finds and all others miss."""
        return float((self._row(name) & (self.found.sum(axis=0) == 1)).mean())

    def to_dict(self) -> dict[str, Any]:
        """Return every figure of the table."""
        return {
            "k": self.k,
            "relevant": self.relevant,
            "recall_union": self.recall_union,
            "systems": {
                name: {
                    "recall": self.recall(name),
                    "alone": self.alone(name),
                    "missed_by": {other: self.missed_by(name, other) for other in self.names if other != name},
                }
                for name in self.names
            },
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Return `to_dict` as JSON; with `path`, also write it there."""
        return write_text(json_text(self.to_dict()), path)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Return a Markdown table; with `path`, also write it there."""
        return write_text(f"{markdown_table(*self._table())}\n", path)

    def show(self) -> None:
        """Print the table."""
        title = f"{self.relevant:,} relevant items, depth {self.k}; all systems together find {self.recall_union:.4f}"
        print_table(*self._table(), title=title)

    def _row(self, name: str) -> NDArray[np.bool_]:
        row: NDArray[np.bool_] = self.found[list(self.names).index(name)]
        return row

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [
            [
                name,
                f"{self.recall(name):.4f}",
                *(self._cell(name, other) for other in self.names),
                f"{self.alone(name):.4f}",
            ]
            for name in self.names
        ]
        return ["finds", "in all", *(f"not {name}" for name in self.names), "alone"], rows

    def _cell(self, name: str, other: str) -> str:
        return "–" if name == other else f"{self.missed_by(name, other):.4f}"


def _pairs_found(rows: Sequence[Sequence[str]], queries: JudgedQueries) -> list[bool]:
    """Return, relevant pair by relevant pair, whether the answers hold it."""
    found: list[bool] = []
    for query, row in zip(queries.ids, map(set, rows), strict=True):
        found += [item in row for item, grade in queries.qrels[query].items() if grade > 0]
    return found
