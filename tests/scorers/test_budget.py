"""A Budget: what exceeds it is not called, and what it says was spent is what was called."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import numpy as np
import pytest

from tests.contract.catalog import ITEMS
from tests.scorers.counted import counted_scorer
from vizsla.base.queries import Queries
from vizsla.core.candidates import Candidates
from vizsla.core.strings import Strings
from vizsla.errors import BudgetError, CompositionError, InputError, VizslaError
from vizsla.methods.bm25 import bm25
from vizsla.scorers.cache import ScoreCache
from vizsla.scorers.wrappers import Budget, CallCounter


def rows(*lengths: int) -> Candidates:
    return Candidates.from_rows([np.arange(n, dtype=np.int32) for n in lengths], catalog=Strings.of(ITEMS))


def test_the_call_that_would_exceed_is_not_made_and_costs_nothing():
    function, scorer = counted_scorer()
    budget = Budget(scorer, calls=10)
    budget.score(["a", "b"], rows(3, 4))
    assert (budget.spent, budget.left, len(function.pairs)) == (7, 3, 7)
    with pytest.raises(BudgetError, match="Got 4 to make with 3 of 10 left"):
        budget.score("a", rows(4))
    assert (budget.spent, budget.left, len(function.pairs)) == (7, 3, 7)
    assert budget.score("a", rows(3)) == scorer.score("a", rows(3))
    assert budget.left == 0
    budget.reset()
    assert (budget.spent, budget.left) == (0, 10)


def test_arithmetic_is_counted_in_pairs():
    budget = Budget(bm25(ITEMS), calls=5)
    assert budget.score("fig", rows(5)) == bm25(ITEMS).score("fig", rows(5))
    with pytest.raises(BudgetError):
        budget.score("fig", rows(1))


def test_a_limit_for_each_query_of_a_call():
    function, scorer = counted_scorer()
    budget = Budget(scorer, per_query=4)
    for _ in range(3):  # each call begins anew
        budget.score(["a", "b"], rows(4, 4))
    with pytest.raises(BudgetError, match="Got 5 for one query with at most 4"):
        budget.score(["a", "b"], rows(1, 5))
    assert (budget.spent, budget.left, len(function.pairs)) == (24, None, 24)


def test_queries_that_are_shared_are_another_call_each_time():
    function, scorer = counted_scorer()
    budget, shared = Budget(scorer, per_query=4), Queries(["a", "b"])
    for _ in range(3):
        budget.score(shared, rows(4, 4))
    with pytest.raises(BudgetError, match="Got 5 for one query with at most 4"):
        budget.score(shared, rows(5, 1))
    assert (budget.spent, len(function.pairs)) == (24, 24)


def test_a_search_of_shared_queries_may_cost_as_much_as_any_other():
    """What an earlier call has scored is known, and costs nothing of what this one may spend."""
    function, scorer = counted_scorer()
    search = bm25(ITEMS)
    budget, shared = Budget(scorer, per_query=3), Queries(["fig pear tree"])
    first = search.rerank(budget, depth=3)(shared, k=3)
    spent = budget.spent
    assert search.rerank(budget, depth=6)(shared, k=3).stats.model_calls == 3 and spent == 3
    assert budget.spent == len(function.pairs) == 6
    assert search.rerank(budget, depth=3)(shared, k=3) == first and budget.spent == 6


def test_a_limit_for_each_query_holds_over_all_steps_of_a_call():
    function, scorer = counted_scorer()
    one, other, query = bm25(ITEMS), bm25(ITEMS, b=0.0, k1=0.1), "fig pear tree"
    new = set(other(query, k=4).ids[0]) - set(one(query, k=4).ids[0])
    assert new, "the second part must find something of its own for this to prove anything"
    for spare in (0, -1):
        function.calls.clear()
        budget = Budget(scorer, per_query=4 + len(new) + spare)
        search = one.rerank(budget, depth=4).plus(other.rerank(budget, depth=4), depth=4)
        if spare < 0:
            with pytest.raises(BudgetError, match=f"Got {4 + len(new)} for one query"):
                search(query, k=4)
        else:
            search(query, k=4)
        assert len(function.pairs) == budget.spent == (4 if spare else 4 + len(new))


@pytest.mark.parametrize("where", ["cache inside", "cache outside"])
def test_with_a_cache_only_what_is_called_is_billed(tmp_path, where):
    function, scorer = counted_scorer()
    if where == "cache inside":
        outer = budget = Budget(ScoreCache(scorer, tmp_path / "s.db", chunk=3), calls=10)
    else:
        budget = Budget(scorer, calls=10)
        outer = ScoreCache(budget, tmp_path / "s.db", chunk=3)
    assert outer.score("a", rows(5)) == scorer.score("a", rows(5))
    function.calls.clear()
    found = outer.score("a", rows(9))
    assert (budget.spent, found.stats.model_calls, len(function.pairs)) == (9, 4, 4)
    with pytest.raises(BudgetError, match="Got 3 to make with 1 of 10 left"):
        outer.score("a", rows(12))  # the first chunk alone would already exceed it, and no part of the call is begun
    with pytest.raises(BudgetError, match="Got 5 to make"):
        outer.score("b", rows(5))
    assert (budget.spent, len(function.pairs)) == (9, 4)
    assert outer.score("a", rows(9)).stats.model_calls == 0
    assert budget.spent == 9


def test_a_call_of_several_chunks_that_cannot_be_finished_is_not_begun(tmp_path):
    function, scorer = counted_scorer()
    budget = Budget(ScoreCache(scorer, tmp_path / "s.db", chunk=2), calls=7)
    with pytest.raises(BudgetError):
        budget.score("a", rows(8))
    assert function.pairs == []
    assert budget.spent == 0


def test_a_failing_scorer_is_billed_for_what_was_sent(tmp_path):
    function, scorer = counted_scorer(fails_at=2)
    budget = Budget(ScoreCache(scorer, tmp_path / "s.db", chunk=3), calls=100)
    with pytest.raises(ConnectionError):
        budget.score("a", rows(20))
    assert len(function.pairs) == 6
    assert budget.spent == 9, "two chunks that came back, one that was sent in vain, none of those never sent"


def test_budgets_around_budgets_count_alike():
    function, scorer = counted_scorer()
    inner = Budget(scorer, calls=5)
    outer = Budget(inner, calls=100, per_query=50)
    outer.score("a", rows(4))
    with pytest.raises(BudgetError, match="1 of 5 left"):
        outer.score("a", rows(2))
    assert (inner.spent, outer.spent, len(function.pairs)) == (4, 4, 4)


def test_what_one_budget_refuses_costs_the_other_nothing():
    function, scorer = counted_scorer()
    wide = Budget(scorer, calls=100)
    narrow = Budget(wide, calls=5)
    with pytest.raises(BudgetError, match="5 of 5 left"):
        narrow.score("a", rows(6))
    assert (wide.spent, narrow.spent, function.pairs) == (0, 0, [])


def test_threads_never_exceed_it_together():
    function, scorer = counted_scorer()
    budget = Budget(scorer, calls=100)

    def ask(number: int) -> bool:
        try:
            budget.score(f"query {number}", rows(7))
        except BudgetError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(ask, range(40)))
    assert sum(done) == 14
    assert len(function.pairs) == budget.spent == 98


def test_it_stands_around_one_scorer_not_a_composition():
    _, scorer = counted_scorer()
    search = bm25(ITEMS)
    for composed in (search >> scorer, search + search, search | search, search.normalized()):
        with pytest.raises(CompositionError, match=r"write a >> Budget\(scorer"):
            Budget(composed, calls=3)
    with pytest.raises(CompositionError, match="must be a Scorer. Got function"):
        Budget(lambda query, texts: texts, calls=3)


def test_limits_are_checked_and_shown():
    _, scorer = counted_scorer()
    with pytest.raises(InputError, match="Got neither"):
        Budget(scorer)
    for wrong in ({"calls": 0}, {"per_query": -1}, {"calls": 2.5}):
        with pytest.raises(InputError, match="whole number above 0"):
            Budget(scorer, **wrong)
    assert repr(Budget(scorer, calls=1000)) == f"Budget({scorer}, calls=1,000, 0 spent)"
    assert issubclass(BudgetError, VizslaError)


def test_a_copy_spends_from_the_same_budget():
    spending = CallCounter(5, None)
    assert deepcopy(spending) is spending
