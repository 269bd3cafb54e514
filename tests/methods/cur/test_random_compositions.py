"""Law 6 over random searches under a budget, and compositions of them: no call too many, every call in the bill."""

from __future__ import annotations

import numpy as np
import pytest

from tests.methods.cur.counted import CALLS, CountedScorer
from tests.methods.cur.scorers import ANCHORS, ITEMS, QUERIES, Books, full, scorer
from vizsla.artifacts.artifact import load
from vizsla.base.queries import Queries
from vizsla.compose.budgeted import rerank
from vizsla.core.candidates import Candidates
from vizsla.errors import BudgetError
from vizsla.methods.bm25 import bm25
from vizsla.methods.cur import AnchorScores, adacur, anncur, residual_cur
from vizsla.methods.tfidf import tfidf
from vizsla.scorers.cache import ScoreCache
from vizsla.scorers.wrappers import Budget

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


class Whole:
    """A random composition, and the searches under a budget in it: each has a scorer of its own, by name."""

    def __init__(self, pick):
        self.pick, self.budgets = pick, {}
        self.search = self._any(depth=int(pick.integers(1, 4)))

    def _budgeted(self):
        name, budget = f"scorer {len(self.budgets)}", int(self.pick.choice([1, 2, 5, 17, 40]))
        self.budgets[name] = budget
        return _one(self.pick, CountedScorer(name), budget)

    def _any(self, depth):
        if not depth:
            return self._budgeted() if self.pick.random() < 0.6 else CHEAP[self.pick.integers(3)]
        shape = self.pick.integers(6)
        inner = self._any(depth - 1)
        if shape == 0:
            return inner % int(self.pick.integers(1, 30))
        if shape == 1:
            return inner.normalized(self._scale(), depth=int(self.pick.integers(2, 50)))
        if shape == 2:
            return (inner | self._any(depth - 1)) >> self._scores_all(depth)
        if shape == 3:
            return inner.rerank(self._scores_all(depth), depth=int(self.pick.integers(1, 30)))
        scale = self._scale()
        return 0.3 * inner.normalized(scale) + 0.7 * self._any(depth - 1).normalized(scale)

    def _scores_all(self, depth):
        return self._budgeted() if self.pick.random() < 0.7 else CHEAP[0]

    def _scale(self):
        return str(self.pick.choice(["minmax", "zscore", "rank"]))


def _called(whole, asked, work):
    """Do some work; hold its calls against each budget; return what came of it and how many calls it was."""
    CALLS.clear()
    found = work()
    for name, budget in whole.budgets.items():
        pairs = CALLS.get(name, {})
        assert max(pairs.values(), default=1) == 1, "a pair was scored twice"
        assert max(sum(query == q for query, _ in pairs) for q in asked) <= budget
    return found, sum(map(len, CALLS.values()))


@pytest.mark.parametrize("seed", range(100))
def test_every_budget_holds_in_any_composition_before_saving_and_after_loading(seed, tmp_path):
    whole = Whole(np.random.default_rng(seed))
    asked, options = _question(whole.pick)
    kept, calls = _called(whole, asked, lambda: whole.search(asked, **options))
    assert kept.stats.model_calls == calls
    again = {key: value for key, value in options.items() if key != "k"}
    scored, calls = _called(whole, asked, lambda: whole.search.score(asked, kept, **again))
    assert scored == kept and scored.stats.model_calls == calls  # law 2
    whole.search.save(tmp_path / "whole")
    loaded = load(tmp_path / "whole")
    found, calls = _called(whole, asked, lambda: loaded(asked, **options))
    assert found == kept and found.stats.model_calls == calls


@pytest.mark.parametrize("seed", range(60))
def test_a_filter_changes_no_score_and_reasons_add_up(seed):
    whole = Whole(np.random.default_rng(1000 + seed))
    asked, where = QUERIES[:2], np.random.default_rng(seed).random(len(ITEMS)) < 0.5
    everything, _ = _called(whole, asked, lambda: whole.search(asked, k=60))
    left, _ = _called(whole, asked, lambda: whole.search(asked, k=60, where=where))
    assert where[left.items].all()
    if "rank" not in str(whole.search):  # places are those of the filtered list
        for whole_row, row in zip(everything, left, strict=True):
            before = dict(whole_row)
            assert all(before.get(hit.id, hit.score) == hit.score for hit in row)  # law 3
    for query, row in zip(asked, left, strict=True):
        for hit in row[:2]:
            why, _ = _called(whole, asked, lambda q=query, id=hit.id: whole.search.explain(q, id, where=where))
            assert why.score == pytest.approx(hit.score, abs=1e-5)  # law 4
            _adds_up(why)


def _adds_up(why):
    if why.reason.startswith(("weighted sum", "estimate", "score by")) and why.parts:
        assert sum(part.score for part in why.parts) == pytest.approx(why.score, abs=1e-4)
    for part in why.parts:
        _adds_up(part)


def test_what_was_not_bought_is_estimated_and_the_answer_says_so():
    search = adacur(CountedScorer("one"), _all_anchors(), budget=10, rounds=5)
    everything = Candidates.from_rows([np.arange(60, dtype=np.int32)], catalog=search.items)
    scored = search.score(QUERIES[0], everything)
    assert scored.stats.model_calls == 10 and scored.stats.estimated == 50
    trace, exact = search.trace(QUERIES[0]), full(QUERIES)[0]
    for item, score in zip(*scored.row(0), strict=True):
        expected = exact[item] if item in trace.items else trace.estimates[item]
        assert score == pytest.approx(float(expected), abs=1e-5)
    unknown = int(np.setdiff1d(np.arange(60), trace.items)[0])
    assert "estimate" in search.explain(QUERIES[0], search.items[unknown]).reason


def test_a_composition_over_estimates_is_not_called_exact():
    search = adacur(CountedScorer("one"), _all_anchors(), budget=10, rounds=5)
    over_all = (search.normalized() + CHEAP[0].normalized()).exact(QUERIES[0])
    assert over_all.stats.estimated and not over_all.stats.exact
    assert search.exact(QUERIES[0]).stats.exact


def test_re_ranking_takes_what_it_did_not_score_for_the_least_that_it_did():
    search = rerank(CHEAP[0], CountedScorer("one"), budget=3)
    found = search(QUERIES[0])
    everything = Candidates.from_rows([np.arange(60, dtype=np.int32)], catalog=search.items)
    scored = search.score(QUERIES[0], everything)
    assert scored.stats.model_calls == 3 and scored.stats.estimated == 57
    assert scored.row(0)[1][3:].tolist() == [found[0][2].score] * 57


def test_exhaustive_scoring_asks_for_every_item_whatever_the_budget():
    search = adacur(CountedScorer("one"), _all_anchors(), budget=10)
    found = search.exact(QUERIES, k=60)
    assert found.stats.model_calls == 60 * len(QUERIES)
    assert np.array_equal(found.row(1)[1], np.sort(full(QUERIES)[1])[::-1])


def test_queries_that_are_asked_again_are_another_call():
    asked, where = Queries(QUERIES[:1]), np.arange(60) < 20
    search = adacur(CountedScorer("one"), _all_anchors(), budget=10)
    search(asked, k=10)
    assert len(search(asked, k=10, where=where)[0]) == 10


@pytest.mark.parametrize("seed", range(30))
def test_a_limit_around_the_scorer_still_holds(seed):
    pick, books = np.random.default_rng(seed), Books()
    limit = int(pick.choice([5, 17, 40, 60]))
    search = _one(pick, Budget(scorer(books), per_query=limit), int(pick.integers(1, 2 * limit)))
    scale = str(pick.choice(["minmax", "rank", "zscore"]))
    whole = search.normalized(scale) + CHEAP[pick.integers(3)].normalized(scale)
    asked, options = _question(pick)
    try:
        assert whole(asked, **options).stats.model_calls == len(books.pairs)
    except BudgetError:
        assert search.budget > limit
    assert len(books.pairs) == len(set(books.pairs)) and (not books.pairs or _most(books, asked) <= limit)


def _all_anchors():
    return AnchorScores.of(ITEMS, ANCHORS, SCORES)
