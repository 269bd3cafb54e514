"""Refinements of a search: numbers and dates of the items as terms of its sum, and a scorer that re-ranks its best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from vizsla.autopilot.fusing import SearchPlan, decimal_text
from vizsla.autopilot.proposals import VECTORS, Candidate
from vizsla.autopilot.searches import DEPTH, Searches
from vizsla.base.encoder import Encoder, checked_rows
from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe
from vizsla.base.retriever import DEFAULT_DEPTH, Retriever
from vizsla.base.scorer import Scorer
from vizsla.core.candidates import Candidates, Stats
from vizsla.core.catalog import details_of
from vizsla.core.sparse import row_numbers
from vizsla.data.columns import DateColumn, KeyedColumn
from vizsla.data.dataset import Dataset
from vizsla.encoders.cache import EmbeddingCache
from vizsla.typing import Float32Array, Float64Array

MAX_FIELDS = 8
"""So many fields with numbers or dates are tried."""
SIGNAL_WEIGHTS = (0.1, 0.25, 0.5, 1.0)
"""How much a signal may add, in spreads of a list's scores."""
DATE_HALF_LIVES = (30.0, 365.0)
NUMBER_SHAPES = ("log", "inverse")
SCORER = "scorer"
"""What a scorer is called in expressions."""
RERANKED = (10, 20, 50)
"""How many hits may be scored again."""
BUDGETS = (20, 50)
"""Calls per query of a search of the whole catalog by the scorer."""
ROUNDS = 5
MAX_ESTIMATED = 10_000
"""In a larger catalog only so many hits of the best part are estimated."""


def signal_candidates(dataset: Dataset) -> dict[str, Candidate]:
    """Return a signal for each field of numbers or dates: large and small numbers first, and new dates first.

    Examples
    --------
    >>> shop = Dataset.of([{"id": "a", "text": "fig", "sold": 1}, {"id": "b", "text": "fig jam", "sold": 9}])
    >>> [(name, one.recipe.settings["field"]) for name, one in signal_candidates(shop).items()]
    [('signal_1', 'sold'), ('signal_2', 'sold')]
    """
    details = details_of(dataset.item_ids)
    fields = [] if details is None else list(details.columns)
    known = {field: details.column(field) for field in fields} if details is not None else {}
    told = [field for field, column in known.items() if isinstance(column, KeyedColumn) and len(column.keys) > 1]
    recipes = []
    for field in told[:MAX_FIELDS]:
        if isinstance(known[field], DateColumn):
            recipes += [Recipe.of("signal", field=field, half_life_days=days) for days in DATE_HALF_LIVES]
        else:
            recipes += [Recipe.of("signal", field=field, shape=shape) for shape in NUMBER_SHAPES]
    names = [f"signal_{number}" for number in range(1, len(recipes) + 1)]
    return {name: Candidate(name, "signals", one, enters=False) for name, one in zip(names, recipes, strict=True)}


def best_signal(
    plan: SearchPlan, built: Retriever, signals: Mapping[str, Any], searches: Searches, *, threads: int = 1
) -> SearchPlan | None:
    """Return the plan with the signal and the weight that help most; None where none surely helps.

    Parameters
    ----------
    plan : SearchPlan
        The search without signals.
    built : Retriever
        The same, built.
    signals : mapping of str to Signal
        What may be added.
    searches : Searches
        By which it is judged.
    threads : int
        How many searches are answered at a time.
    """
    if not signals:
        return None
    found = searches.answers(built, DEFAULT_DEPTH, threads=threads)
    scores = np.asarray(found._required_scores(), np.float64)
    spread = _spread(found, scores)
    before = searches.measure(_ranked(found, scores))
    tried: list[tuple[float, str, float, Float64Array]] = []
    for name, one in signals.items():
        for weight in SIGNAL_WEIGHTS:
            values = searches.measure(_ranked(found, scores + weight * spread * one.values[found.items]))
            tried.append((searches.quality(values), name, weight, values))
    _, name, weight, values = max(tried, key=lambda one: one[0])
    if searches.interval(values - before).low <= 0:
        return None
    base = f"{plan.expression}.scaled()" if plan.simple else plan.expression
    return SearchPlan(f"{base} + {decimal_text(weight * spread)}*{name}", (*plan.parts, name))


def _spread(found: Candidates, scores: Float64Array) -> float:
    """Return the median over lists of the standard deviation of the first ten scores."""
    rows = [
        scores[start : min(end, start + DEPTH)] for start, end in zip(found.offsets, found.offsets[1:], strict=False)
    ]
    return float(np.median([row.std() for row in rows if len(row) > 1] or [1.0])) or 1.0


def _ranked(found: Candidates, scores: Float64Array) -> Candidates:
    """Return the same hits in the order of other scores, and of their numbers where these are equal."""
    order = np.lexsort((found.items, -scores, row_numbers(found.offsets)))
    return Candidates.unchecked(found.offsets, found.items[order], None, found.catalog, Stats())


def reranked_plans(plan: SearchPlan) -> Iterator[SearchPlan]:
    """Yield the plan with its best hits scored again, few and many of them.

    Examples
    --------
    >>> next(reranked_plans(SearchPlan("bm25", ("bm25",)))).expression
    '(bm25 % 10).rerank(scorer, depth=10)'
    """
    inner = plan.expression if plan.simple else f"({plan.expression})"
    for depth in RERANKED:
        yield SearchPlan(f"({inner} % {depth}).rerank({SCORER}, depth={depth})", plan.parts)


def budgeted_candidates(
    plan: SearchPlan, candidates: Mapping[str, Candidate], scorer: Scorer, items: int
) -> dict[str, Candidate]:
    """Return searches of the catalog by a scorer under a budget: the plan's parts say where to begin.

    In rounds, items are scored and the others estimated by a regression on the parts' scores and on vectors of the
    items. This needs no call before the first query, as anchor queries would.

    Parameters
    ----------
    plan : SearchPlan
        The best search without the scorer.
    candidates : mapping of str to Candidate
        All that there are.
    scorer : Scorer
        The scorer.
    items : int
        How many items there are.
    """
    parts = [name for name in plan.parts if candidates[name].family != "signals"]
    vectors = next((name for name in (VECTORS, "tfidf") if name in candidates), None)
    if vectors is None or not parts:
        return {}
    pool: dict[str, Any] = {"pool": parts[0], "pool_size": MAX_ESTIMATED} if items > MAX_ESTIMATED else {}
    given: dict[str, Any] = {"scorer": scorer, "priors": parts, "vectors": vectors, "rounds": ROUNDS, **pool}
    return {
        f"budgeted_{budget}": Candidate(
            f"budgeted_{budget}", "budgeted", Recipe.of("residual_cur", budget=budget, **given), enters=False
        )
        for budget in BUDGETS
    }


class RememberedVectors(EmbeddingCache):
    """An encoder that encodes no text twice, but for single queries: their time is measured.

    Parameters
    ----------
    encoder : Encoder
        The encoder inside.
    folder : path, optional
        Where vectors are kept; without it, as long as this lives.
    """

    def __init__(self, encoder: Encoder, folder: Path | None = None):
        self._temporary = TemporaryDirectory(prefix="vizsla-") if folder is None else None
        super().__init__(encoder, Path(self._temporary.name if self._temporary else str(folder)) / "vectors.sqlite")

    def queries(self, texts: list[str]) -> Float32Array:  # type: ignore[override]
        """Return the vectors of query texts; that of a single one is made anew."""
        return super().queries(texts) if len(texts) != 1 else self._alone(self.encoder.queries(texts))

    def encoded(self, queries: Queries) -> Float32Array:
        """Return the vectors of a call's queries; that of a single one is made anew."""
        return super().encoded(queries) if len(queries.texts) != 1 else self._alone(self.encoder.encoded(queries))

    def _alone(self, rows: Any) -> Float32Array:
        checked: Float32Array = checked_rows(self.encoder, rows, 1)
        return checked
