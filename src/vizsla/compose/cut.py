"""`a % k`: a cut-off."""

from __future__ import annotations

from typing import Any, Self

from vizsla.candidates import Candidates
from vizsla.compose.composition import Composition
from vizsla.errors import check_positive
from vizsla.explanation import Explanation
from vizsla.index import Mask
from vizsla.retriever import Retriever


class Cut(Composition):
    """At most the best `k` of a part; the cut-off is pushed down into the part's own search."""

    operation = "cut"

    def __init__(self, part: Retriever, k: int):
        super().__init__([part])
        self.k, self.scale = check_positive("k", k), part.scale

    def __str__(self) -> str:
        return f"{self.parts[0]} % {self.k}"

    def _search(self, texts: list[str], k: int, allowed: Mask | None, threads: int) -> Candidates:
        return self.parts[0]._search(texts, min(k, self.k), allowed, threads)

    def _score(self, texts: list[str], candidates: Candidates) -> Candidates:
        return self.parts[0]._score(texts, candidates)

    def _complete(self, texts: list[str], found: Candidates, wanted: Candidates) -> Candidates:
        return self.parts[0]._complete(texts, found, wanted)

    def _explain(self, text: str, item: int) -> Explanation:
        return self.parts[0]._explain(text, item)

    def _options(self) -> dict[str, Any]:
        return {"k": self.k}

    @classmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        return cls(parts[0], options["k"])
