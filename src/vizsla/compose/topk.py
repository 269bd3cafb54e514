"""`a % k`: a cut-off."""

from __future__ import annotations

from typing import Any, Self

from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.compose.composition import Composition, bracketed
from vizsla.core.candidates import Candidates, PairScores
from vizsla.core.explanation import Explanation
from vizsla.data.filter import Filter
from vizsla.errors import check_positive


class TopK(Composition):
    """At most the best `k` of a part; the cut-off is pushed down into the part's own search.

    A cut of a cut is one cut, by the smaller number.
    """

    operation = "cut"
    needs_parentheses = True
    k: int

    def __init__(self, part: Retriever, k: int):
        most = check_positive("k", k)
        if isinstance(part, TopK):
            most, part = min(most, part.k), part.parts[0]
        super().__init__([part])
        self.k, self.scale = most, part.scale

    def __str__(self) -> str:
        return f"{bracketed(self.parts[0])} % {self.k}"

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        found = self.parts[0]._search_checked(queries, min(k, self.k), filter, threads)
        return found if k <= self.k else found.with_stats(found.stats.with_exact(False))  # more would be scored

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        return self._aligned[0].score(queries, candidates, filter, threads)

    def _ignored_cut(self) -> int | None:
        return self.k

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        return self.parts[0]._explain(queries, item, filter)

    def _options(self) -> dict[str, Any]:
        return {"k": self.k}

    @classmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        return cls(parts[0], options["k"])
