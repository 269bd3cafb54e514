"""A part that remembers its searches, so that many sums of the same parts can be measured for the price of one."""

from __future__ import annotations

from typing import Any

from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.compose import Composition
from vizsla.core.candidates import Candidates, PairScores
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.data.filter import Filter


class Remembered(Retriever):
    """Answers as its part does; the same texts to the same depth are searched once.

    Parameters
    ----------
    part : Retriever
        What is asked.
    """

    def __init__(self, part: Retriever):
        self.part, self.scale, self.max_score = part, part.scale, part.max_score
        self._answers: dict[tuple[int, ...], Candidates] = {}

    @property
    def items(self) -> Strings:
        """The part's items."""
        return self.part.items

    @property
    def nbytes(self) -> int:
        """The part's bytes."""
        return self.part.nbytes

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        key = (hash(tuple(queries.texts)), len(queries), k)
        if filter is not None or key not in self._answers:
            self._answers[key] = self.part._search(queries, k, filter, threads)
        return self._answers[key]

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        return self.part._score(queries, candidates, filter, threads)

    def _write(self, writer: Any) -> None:
        raise NotImplementedError("It is for measuring only.")

    @classmethod
    def _read(cls, reader: Any) -> Remembered:
        raise NotImplementedError("It is for measuring only.")

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        return self.part._explain(queries, item, filter)


def swapped(system: Retriever, others: dict[int, Retriever]) -> Retriever:
    """Return a composition with parts replaced, each by what stands under its `id`."""
    if id(system) in others:
        return others[id(system)]
    if not isinstance(system, Composition):
        return system
    rebuild: Any = type(system)._rebuild
    built: Retriever = rebuild([swapped(part, others) for part in system.parts], system._options())
    return built
