"""Law 6 over random searches under a budget, and compositions of them: no call too many, every call in the bill."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cur.scorers import ANCHORS, ITEMS, QUERIES, Books, full, scorer
from vizsla.budget import Budget
from vizsla.compose.rerank import rerank
from vizsla.errors import BudgetError
from vizsla.methods.bm25 import bm25
from vizsla.methods.cur import AnchorScores, adacur, anncur, residual_cur
from vizsla.methods.tfidf import tfidf
from vizsla.score_cache import ScoreCache

SCORES = full(ANCHORS)
CHEAP = [bm25(ITEMS), tfidf(ITEMS), bm25(dict(reversed(ITEMS.items())), k1=0.3)]


def _anchors(pick):
    count = int(pick.integers(1, len(ANCHORS) + 1))
    storage = str(pick.choice(["float32", "float16", "int8"]))
    return AnchorScores.of(ITEMS, ANCHORS[:count], SCORES[:count], storage=storage)


def _one(pick, expensive, budget):
    """Return any search of this budget."""
    pool = CHEAP[pick.integers(3)] if pick.random() < 0.3 else None
    shared = {"budget": budget, "seed": int(pick.integers(9)), "pool": pool, "pool_size": int(pick.integers(1, 80))}
    drawn = {"how": str(pick.choice(["topk", "softmax", "random"])), "epsilon": float(pick.choice([0.0, 0.3, 1.0]))}
    rounds, first = int(pick.integers(1, 12)), CHEAP[pick.integers(3)] if pick.random() < 0.5 else None
    kind = pick.integers(4)
    if kind == 0:
        return adacur(
            expensive, _anchors(pick), rounds=rounds, first=first, ridge=float(pick.choice([0, 0.1])), **drawn, **shared
        )
    if kind == 1:
        return anncur(expensive, _anchors(pick), anchor_items=int(pick.integers(1, budget + 1)), **shared)
    if kind == 2:
        priors = [CHEAP[at] for at in pick.permutation(3)[: pick.integers(4)]]
        return residual_cur(
            expensive,
            _anchors(pick),
            priors,
            rounds=rounds,
            rank=int(pick.integers(1, 9)),
            ridge=0.1,
            **drawn,
            **shared,
        )
    return rerank(CHEAP[pick.integers(3)], expensive, budget=budget)


def _alone(pick, search, expensive):
    """Return a composition that scores nothing but what the search has found."""
    shapes = [search, search % int(pick.integers(1, 9)), (search % 5) >> expensive, search >> expensive]
    return shapes[pick.integers(len(shapes))]


def _in_a_sum(pick, search):
    """Return a sum: what the other part finds is scored by this one, too, so only a `Budget` limits the calls."""
    scale = str(pick.choice(["minmax", "rank", "zscore"]))
    return search.normalised(scale) + CHEAP[pick.integers(3)].normalised(scale)


def _question(pick):
    asked = [QUERIES[at] for at in pick.permutation(len(QUERIES))[: pick.integers(1, 6)]]
    where = pick.random(len(ITEMS)) < 0.6 if pick.random() < 0.3 else None
    return asked, {"k": int(pick.integers(1, 70)), "where": where, "threads": int(pick.integers(1, 3))}


def _most(books, asked):
    return max(sum(query == q for query, _ in books.pairs) for q in asked)


@pytest.mark.parametrize("seed", range(60))
def test_no_call_over_budget_and_every_call_in_the_bill(seed, tmp_path):
    pick, books = np.random.default_rng(seed), Books()
    cached = pick.random() < 0.4
    expensive = ScoreCache(scorer(books), tmp_path / "scores.db", chunk=7) if cached else scorer(books)
    budget = int(pick.choice([1, 2, 5, 17, 40, 200]))
    whole = _alone(pick, _one(pick, expensive, budget), expensive)
    asked, options = _question(pick)
    found = whole(asked, **options)
    assert found.stats.model_calls == len(books.pairs) == len(set(books.pairs))
    assert _most(books, asked) <= budget
    assert options["where"] is None or options["where"][found.items].all()
    if cached:
        again = whole(asked, **options)
        assert again == found and again.stats.model_calls == 0


@pytest.mark.parametrize("seed", range(30))
def test_a_sum_is_within_the_limit_around_its_scorer_or_refused(seed):
    pick, books = np.random.default_rng(seed), Books()
    limit = int(pick.choice([5, 17, 40, 60]))
    whole = _in_a_sum(pick, _one(pick, Budget(scorer(books), per_query=limit), int(pick.integers(1, limit + 1))))
    asked, options = _question(pick)
    try:
        assert whole(asked, **options).stats.model_calls == len(books.pairs)
    except BudgetError:
        assert limit < len(ITEMS)
    assert len(books.pairs) == len(set(books.pairs)) and (not books.pairs or _most(books, asked) <= limit)
