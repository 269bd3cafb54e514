"""A scorer that can be saved, and whose calls are counted wherever it was loaded."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tests.methods.cur.scorers import ITEMS, truth
from vizsla.artifacts.artifact import Artifact
from vizsla.base.scorer import Scorer
from vizsla.core.candidates import PairScores, Stats
from vizsla.core.strings import Strings

TEXTS = list(ITEMS.values())
CALLS: dict[str, Counter[tuple[str, str]]] = {}
"""By the scorer's name: how often each pair of texts was scored."""


class CountedScorer(Scorer, Artifact):
    """Scores as `truth` does; `name` says on whose account."""

    kind, scale, model_calls = "counted-scorer", "counted", True

    def __init__(self, name: str):
        self.name, self._items = name, Strings.of(ITEMS)

    @property
    def items(self):
        return self._items

    def _score(self, queries, candidates, filter, threads):
        asked = np.repeat(np.array(queries.texts, object), np.diff(candidates.offsets))
        pairs = [(query, TEXTS[item]) for query, item in zip(asked, candidates.items.tolist(), strict=True)]
        CALLS.setdefault(self.name, Counter()).update(pairs)
        scores = np.array([truth(*pair) for pair in pairs], np.float32)
        return PairScores(scores, Stats(model_calls=len(pairs)))

    def _write(self, writer):
        writer.parameters(name=self.name)

    @classmethod
    def _read(cls, reader):
        return cls(reader.parameter("name", str))
