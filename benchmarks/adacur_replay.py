"""An expensive scorer that is replayed from its full score matrix, and the systems that are compared under it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates
from vizsla.compose.rerank import Rerank, rerank
from vizsla.filter import Filter
from vizsla.methods.cur import AnchorScores, adacur, anncur, residual_cur
from vizsla.methods.cur.adacur import RIDGE
from vizsla.methods.dense import Dense
from vizsla.queries import Queries
from vizsla.retriever import Retriever
from vizsla.scored import Scored
from vizsla.scorer import Scorer
from vizsla.stats import Stats
from vizsla.strings import Strings

ROUNDS = 10
"""Of ADACUR and of residual CUR alike."""
Matrix = NDArray[np.float32]
System = Callable[[int], Retriever]
"""Makes the system for a budget."""


class Replay(Scorer):
    """Scores known pairs of queries and items by looking them up; each counts as a model call."""

    scale, model_calls = "replayed", True

    def __init__(self, items: Strings, queries: list[str], scores: Matrix):
        self._items, self._scores = items, scores
        self._rows = {text: row for row, text in enumerate(queries)}

    @property
    def items(self) -> Strings:
        """All items."""
        return self._items

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> Scored:
        rows = np.repeat([self._rows[text] for text in queries.texts], np.diff(candidates.offsets))
        return Scored(self._scores[rows.astype(np.int64), candidates.items], Stats(model_calls=len(candidates.items)))


def systems(scorer: Scorer, anchors: AnchorScores, cheap: Mapping[str, Retriever], vectors: Dense) -> dict[str, System]:
    """Return all systems by name; "plain" is the paper's pseudo-inverse, without a ridge."""
    found: dict[str, System] = {f"re-rank {name}": _rerank(part, scorer) for name, part in cheap.items()}
    for label, names in {"bm25": ["bm25"], "minilm": ["minilm"], "both": ["minilm", "bm25"]}.items():
        found[f"residual {label}"] = residual_cur(
            scorer, anchors, [cheap[name] for name in names], rounds=ROUNDS
        ).with_budget
    found["axn minilm"] = residual_cur(scorer, priors=cheap["minilm"], vectors=vectors, rounds=ROUNDS).with_budget
    found["adacur random"] = adacur(scorer, anchors, rounds=ROUNDS).with_budget
    found["adacur random plain"] = adacur(scorer, anchors, rounds=ROUNDS, ridge=0).with_budget
    for name in ("bm25", "minilm"):
        found[f"adacur {name}"] = adacur(scorer, anchors, rounds=ROUNDS, first=cheap[name]).with_budget
    for share in (0.3, 0.5, 0.7):
        found[f"anncur {share} plain"] = _anncur(scorer, anchors, share, 0.0)
        found[f"anncur {share}"] = _anncur(scorer, anchors, share, RIDGE)
    return found


def _rerank(part: Retriever, scorer: Scorer) -> System:
    return lambda budget: _plain(part, scorer, budget)


def _plain(part: Retriever, scorer: Scorer, budget: int) -> Rerank:
    return rerank(part, scorer, budget=budget)


def _anncur(scorer: Scorer, anchors: AnchorScores, share: float, ridge: float) -> System:
    fixed = lambda budget: max(1, round(share * budget))  # noqa: E731
    return lambda budget: anncur(scorer, anchors, budget=budget, anchor_items=fixed(budget), ridge=ridge)
