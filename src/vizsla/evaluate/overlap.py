"""Overlap: which relevant items does each of two systems find that the other one misses?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from vizsla.errors import check_positive
from vizsla.evaluate.evaluate import system_name
from vizsla.evaluate.judged import JudgedQueries, JudgedSplits
from vizsla.evaluate.report import json_text
from vizsla.evaluate.system import System, answers_of
from vizsla.evaluate.write import write_text
from vizsla.tables import markdown_table, print_table


@dataclass(frozen=True)
class Overlap:
    """How the relevant (query, item) pairs of a split divide between two match sets.

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
        Gives query texts and judgements; a grade above 0 is relevant.
    split : str
        Which queries.
    k : int
        The depth of both match sets.
    names : pair of str, optional
        What the systems are called; by default their kinds.
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
