"""How much the answers of retrievers overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.terminal import markdown_table, print_table
from vizsla.errors import InputError, check_positive
from vizsla.evaluation.measures import JudgedQueries, JudgedSplits
from vizsla.evaluation.report import json_text, write_text
from vizsla.evaluation.runs import System, answers_of, run_of, system_name
from vizsla.learning.data import holds_answer


def top_k_recall(found: Any, exact: Any, k: int = 10, *, calls: int | None = None) -> float:
    """Return Top-k-Recall@B of the ADACUR paper: the share of the k best by exact scores that a budget of B found.

    Parameters
    ----------
    found : Candidates, dict, data frame or path
        The answer of a budgeted search, with `k` of at least its budget.
    exact : Candidates, dict, data frame or path
        The best items by the scorer itself, at least k for each query: `search.exact(queries, k)`.
    k : int
        How many of them count.
    calls : int, optional
        Consider only the first items of `found`, this many.

    Examples
    --------
    >>> exact = {"q": {"fig": 3.0, "pear": 2.0, "plum": 1.0}}
    >>> top_k_recall({"q": {"fig": 3.0, "plum": 1.0}}, exact, 2)
    0.5
    """
    check_positive("k", k)
    best, given = run_of(exact), run_of(found)
    bought = dict(zip(given.query_ids, given.ids, strict=True))
    shares = []
    for query, row in zip(best.query_ids, best.ids, strict=True):
        if row:
            own = bought.get(query, [])
            shares.append(len(set(row[:k]).intersection(own if calls is None else own[:calls])) / len(row[:k]))
    if not shares:
        raise InputError("`exact` must answer at least one query. Got none.")
    return float(np.mean(shares))


def answer_accuracy(
    found: Any, answers: Mapping[str, Sequence[str]], texts: Mapping[str, str], k: int = 20
) -> dict[str, float]:
    """Return top-k accuracy of open-domain question answering: is an answer in one of the best k passages?

    An answer counts where a passage holds it as whole words, whatever the case.

    Parameters
    ----------
    found : Candidates, dict, data frame or path
        The answers of a system, by query id.
    answers : mapping
        For each query id the strings of which one is enough; a query that `found` does not answer counts as 0.
    texts : mapping
        Passages by item id.
    k : int
        The largest depth; accuracies at 1, 5 and 20 are given up to it, and at k.

    Examples
    --------
    >>> found = {"q": {"p": 2.0, "r": 1.0}}
    >>> answer_accuracy(found, {"q": ["Art"]}, {"p": "a party", "r": "works of art"}, k=2)
    {'top-1': 0.0, 'top-2': 1.0}
    """
    check_positive("k", k)
    run = run_of(found)
    rows = dict(zip(run.query_ids, run.ids, strict=True))
    if not answers:
        raise InputError("`answers` must hold at least one query. Got none.")
    ranks = []
    for query, wanted in answers.items():
        if isinstance(wanted, str):
            raise InputError(f"`answers` must hold a list of texts per query. Got {wanted!r:.60}: put it into a list.")
        lowered = [answer.lower() for answer in wanted]
        right = (
            any(holds_answer(texts[item].lower(), answer) for answer in lowered) for item in rows.get(query, [])[:k]
        )
        ranks.append(next((rank for rank, is_right in enumerate(right, 1) if is_right), k + 1))
    depths = sorted({depth for depth in (1, 5, 20) if depth < k} | {k})
    return {f"top-{depth}": float(np.mean(np.array(ranks) <= depth)) for depth in depths}


@dataclass(frozen=True)
class OverlapMatrix:
    """The relevant pairs found by each system, for all pairs of systems in one table.

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


@dataclass(frozen=True)
class Overlap:
    """The relevant (query, item) pairs of a split by which of two match sets contains them.

    Parameters
    ----------
    a, b : str
        The systems' names.
    k : int
        The depth of both match sets.
    both, only_a, only_b, neither : int
        Relevant pairs that both find, that one of them finds alone, and that none finds.

    Examples
    --------
    >>> seen = Overlap("xrlinear", "bm25", 100, both=50, only_a=30, only_b=10, neither=10)
    >>> seen.relevant, seen.recall_a, seen.recall_b, seen.recall_union
    (100, 0.8, 0.6, 0.9)
    """

    a: str
    b: str
    k: int
    both: int
    only_a: int
    only_b: int
    neither: int

    @property
    def relevant(self) -> int:
        """All relevant pairs."""
        return self.both + self.only_a + self.only_b + self.neither

    @property
    def recall_a(self) -> float:
        """The share of relevant pairs that the first system finds."""
        return (self.both + self.only_a) / max(self.relevant, 1)

    @property
    def recall_b(self) -> float:
        """The share of relevant pairs that the second system finds."""
        return (self.both + self.only_b) / max(self.relevant, 1)

    @property
    def recall_union(self) -> float:
        """The share of relevant pairs in the union of both match sets, `a | b`."""
        return (self.both + self.only_a + self.only_b) / max(self.relevant, 1)

    def to_dict(self) -> dict[str, float | str]:
        """Return counts and shares."""
        shares = {"recall_a": self.recall_a, "recall_b": self.recall_b, "recall_union": self.recall_union}
        return {**asdict(self), "relevant": self.relevant, **shares}

    def to_json(self, path: str | Path | None = None) -> str:
        """Return `to_dict` as JSON; with `path`, also write it there."""
        return write_text(json_text(self.to_dict()), path)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Return a Markdown table; with `path`, also write it there."""
        return write_text(f"{markdown_table(*self._table())}\n", path)

    def show(self) -> None:
        """Print the table."""
        print_table(*self._table(), title=f"{self.relevant:,} relevant items, depth {self.k}")

    def _table(self) -> tuple[list[str], list[list[str]]]:
        found = {
            f"both {self.a} and {self.b}": self.both,
            f"{self.a} alone": self.only_a,
            f"{self.b} alone": self.only_b,
            "neither": self.neither,
        }
        rows = [[name, f"{count:,}", f"{count / max(self.relevant, 1):.4f}"] for name, count in found.items()]
        return ["found by", "relevant items", "share"], rows


def overlap(
    a: System,
    b: System,
    dataset: JudgedSplits,
    split: str = "test",
    *,
    k: int = 100,
    names: tuple[str, str] | None = None,
    threads: int = 1,
) -> Overlap:
    """Count which relevant items two systems find, alone and together: what their union `a | b` is worth.

    Parameters
    ----------
    a, b : Retriever, Candidates, dict or path
        The systems; runs as for `evaluate`.
    dataset : Dataset
        Gives query texts and judgments; a grade above 0 is relevant.
    split : str
        Which queries.
    k : int
        The depth of both match sets.
    names : pair of str, optional
        Names of the systems; by default their kinds.
    threads : int
        How many queries are answered at a time.
    """
    queries = JudgedQueries.of(dataset, split)
    depth = check_positive("k", k)
    found = [answers_of(system, queries, depth, threads=threads) for system in (a, b)]
    counts = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    for query, by_a, by_b in zip(queries.ids, *found, strict=True):
        in_a, in_b = set(by_a), set(by_b)
        for item, grade in queries.qrels[query].items():
            if grade > 0:
                counts[item in in_a, item in in_b] += 1
    called = names or (system_name(a), system_name(b))
    return Overlap(*called, depth, *counts.values())
