"""An expensive scorer that is replayed from its full score matrix, and the systems that are compared under it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.base.scorer import Scorer
from vizsla.compose.budgeted import rerank
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.strings import Strings
from vizsla.data.filter import Filter
from vizsla.methods.cur import AnchorScores, adacur, anncur, residual_cur
from vizsla.methods.cur.adacur import DEFAULT_RIDGE
from vizsla.methods.dense import Dense

FAMILIES = ("residual", "axn", "adacur", "anncur")
"""Beside re-ranking, which all are held against."""
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

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        rows = np.repeat([self._rows[text] for text in queries.texts], np.diff(candidates.offsets))
        return PairScores(
            self._scores[rows.astype(np.int64), candidates.items], Stats(model_calls=len(candidates.items))
        )


SPLITS = tuple(tenths / 10 for tenths in range(1, 10))
"""Shares of the budget for ANNCUR's anchor items: the paper takes the best of these nine. Figures that were published
before are the best of .3, .5 and .7."""


def systems(
    scorer: Scorer,
    anchors: AnchorScores,
    cheap: Mapping[str, Retriever],
    vectors: Dense,
    families: Collection[str] = FAMILIES,
) -> dict[str, System]:
    """Return the systems of some families by name; "plain" is the paper's pseudo-inverse, without a ridge."""
    found: dict[str, System] = {f"re-rank {name}": _rerank(part, scorer) for name, part in cheap.items()}
    if "residual" in families:
        found |= _residuals(scorer, anchors, cheap)
    if "axn" in families:
        found["axn minilm"] = residual_cur(scorer, priors=cheap["minilm"], vectors=vectors, rounds=ROUNDS).with_budget
    if "adacur" in families:
        found |= _adacurs(scorer, anchors, cheap)
    if "anncur" in families:
        for share in SPLITS:
            found[f"anncur {share} plain"] = _anncur(scorer, anchors, share, 0.0)
            found[f"anncur {share}"] = _anncur(scorer, anchors, share, DEFAULT_RIDGE)
    return found


def _residuals(scorer: Scorer, anchors: AnchorScores, cheap: Mapping[str, Retriever]) -> dict[str, System]:
    told = {"bm25": ["bm25"], "minilm": ["minilm"], "both": ["minilm", "bm25"]}
    return {
        f"residual {label}": residual_cur(scorer, anchors, [cheap[name] for name in names], rounds=ROUNDS).with_budget
        for label, names in told.items()
    }


def _adacurs(scorer: Scorer, anchors: AnchorScores, cheap: Mapping[str, Retriever]) -> dict[str, System]:
    found = {
        "adacur random": adacur(scorer, anchors, rounds=ROUNDS).with_budget,
        "adacur random plain": adacur(scorer, anchors, rounds=ROUNDS, ridge=0).with_budget,
    }
    for name in ("bm25", "minilm"):
        found[f"adacur {name}"] = adacur(scorer, anchors, rounds=ROUNDS, first=cheap[name]).with_budget
    return found


def _rerank(part: Retriever, scorer: Scorer) -> System:
    return lambda budget: rerank(part, scorer, budget=budget)


def _anncur(scorer: Scorer, anchors: AnchorScores, share: float, ridge: float) -> System:
    fixed = lambda budget: max(1, round(share * budget))  # noqa: E731
    return lambda budget: anncur(scorer, anchors, budget=budget, anchor_items=fixed(budget), ridge=ridge)
