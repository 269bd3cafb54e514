"""Scores of unlike scales brought to one, query by query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates
from vizsla.compose.composition import Composition
from vizsla.errors import check_choice, check_positive
from vizsla.explanation import Explanation
from vizsla.index import Mask
from vizsla.retriever import Retriever

Values = NDArray[np.float64]
RECIPROCAL_RANK_CONSTANT = 60.0
"""The customary constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""


class Normalised(Composition):
    """A part's scores, rescaled by what its best `depth` of the same query look like.

    `minmax` maps the lowest of them to 0 and the highest to 1, `zscore` their mean to 0 and their spread to 1, `rank`
    gives 1 / (60 + rank). An item outside of the list is scored by the part and rescaled alike (it may fall below 0);
    by rank it gets 0.
    """

    operation = "normalised"

    def __init__(self, part: Retriever, how: str = "minmax", *, depth: int = 100):
        check_choice("how", how, list(_METHODS))
        super().__init__([part])
        self.how, self.depth, self.scale = how, check_positive("depth", depth), how

    def __str__(self) -> str:
        return f"{self.parts[0]}.normalised({self.how!r})"

    def _search(self, texts: list[str], k: int, allowed: Mask | None, threads: int) -> Candidates:
        found = self.parts[0]._search(texts, max(k, self.depth), allowed, threads)
        return self._rescaled(found.top(self.depth), found).top(k)

    def _score(self, texts: list[str], candidates: Candidates) -> Candidates:
        reference = self.parts[0]._search(texts, self.depth, None, 1)
        scored = self.parts[0]._score(texts, candidates)
        return self._rescaled(reference, scored).with_stats(reference.stats + scored.stats)

    def _complete(self, texts: list[str], found: Candidates, wanted: Candidates) -> Candidates:
        # `found` went through _search, which kept the part's order: scoring it again gives the reference list.
        reference = self.parts[0]._complete(texts, found.unscored(), found.top(self.depth).unscored())
        return self._rescaled(reference, self.parts[0]._score(texts, wanted))

    def _rescaled(self, reference: Candidates, scored: Candidates) -> Candidates:
        rescale = _METHODS[self.how]
        rows = [
            rescale(_values(reference, query), *_row(scored, query), reference.row(query)[0])
            for query in range(len(scored))
        ]
        scores = np.concatenate([np.zeros(0), *rows]).astype(np.float32)
        return Candidates.ranked(scored.offsets, scored.items, scores, catalogue=scored.catalogue, stats=scored.stats)

    def _explain(self, text: str, item: int) -> Explanation:
        raw = self.parts[0]._explain(text, item)
        one = Candidates.matches([np.array([item], dtype=np.int32)], catalogue=self.items)
        score = float(self._score([text], one)._required_scores()[0])
        return Explanation(score, f"{self.how} over the best {self.depth} of {raw.score:.4f}", [raw])

    def _options(self) -> dict[str, Any]:
        return {"how": self.how, "depth": self.depth}

    @classmethod
    def _rebuild(cls, parts: list[Any], options: dict[str, Any]) -> Self:
        return cls(parts[0], options["how"], depth=options["depth"])


def _values(candidates: Candidates, query: int) -> Values:
    return candidates._required_scores()[candidates.offsets[query] : candidates.offsets[query + 1]].astype(np.float64)


def _row(candidates: Candidates, query: int) -> tuple[Values, NDArray[np.int32]]:
    return _values(candidates, query), candidates.row(query)[0]


def _minmax(reference: Values, scores: Values, items: NDArray[np.int32], known: NDArray[np.int32]) -> Values:
    if not len(reference):
        return np.zeros(len(scores))
    low, high = float(reference.min()), float(reference.max())
    return (scores - low) / (high - low) if high > low else 1.0 + (scores - low)


def _zscore(reference: Values, scores: Values, items: NDArray[np.int32], known: NDArray[np.int32]) -> Values:
    if not len(reference):
        return np.zeros(len(scores))
    spread = float(reference.std())
    return (scores - float(reference.mean())) / (spread if spread > 0 else 1.0)


def _rank(reference: Values, scores: Values, items: NDArray[np.int32], known: NDArray[np.int32]) -> Values:
    places = {int(item): place for place, item in enumerate(known, 1)}
    return np.array([1 / (RECIPROCAL_RANK_CONSTANT + places[i]) if i in places else 0.0 for i in items.tolist()])


_METHODS: dict[str, Callable[[Values, Values, NDArray[np.int32], NDArray[np.int32]], Values]] = {
    "minmax": _minmax,
    "zscore": _zscore,
    "rank": _rank,
}
