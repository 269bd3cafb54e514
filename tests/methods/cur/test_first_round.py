"""The first round of residual CUR: retrievers name half, each by what it explains; the estimates choose the rest."""

from __future__ import annotations

import numpy as np
import pytest

from tests.methods.cur.scorers import ANCHORS, ITEMS, QUERIES, Books, full, scorer
from vizsla.methods.bm25 import bm25
from vizsla.methods.cur import AnchorScores, residual_cur
from vizsla.methods.cur.estimates import PooledEstimates, RidgeEstimates
from vizsla.methods.cur.factors import Factors
from vizsla.methods.cur.plan import first_rounds

PICK = np.random.default_rng(21)


def _estimates(retrievers: int, queries: int = 3, items: int = 40) -> RidgeEstimates:
    """Return estimates that have little to do with what the retrievers like."""
    own = PICK.normal(size=(queries, retrievers, items)).astype(np.float32)
    start = PICK.normal(size=(queries, 2)).astype(np.float32)
    mean, penalty = np.full(1 + retrievers, 0.01), np.eye(3 + retrievers)
    return RidgeEstimates(Factors.of(PICK.normal(size=(2, items))), own, mean, penalty, start)


def _best(values: np.ndarray, free: np.ndarray, without: list[int], count: int) -> list[int]:
    """Return the best free places, by sorting them all."""
    order = np.argsort(-values, kind="stable").tolist()
    return [place for place in order if free[place] and place not in without][:count]


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_half_is_the_retrievers_best_and_the_rest_the_best_by_estimates(size):
    estimates, free = _estimates(1), PICK.random((3, 40)) < 0.6
    firsts = first_rounds(estimates, np.array([0.003]), free, size)
    for row, found in enumerate(firsts):
        named = _best(estimates.features()[row, 0], free[row], [], (size + 1) // 2)
        assert found.tolist() == named + _best(estimates.prior()[row], free[row], named, size // 2)


def test_several_retrievers_share_what_is_named_by_what_they_explain():
    estimates, free = _estimates(2), np.ones((3, 40), bool)
    for row, found in enumerate(first_rounds(estimates, np.array([0.02, 0.01]), free, 12)):
        one, other = estimates.features()[row]
        named = _best(one, free[row], [], 4), _best(other, free[row], [], 2)
        assert {*named[0], *named[1]} <= set(found[:6].tolist()) and len(set(found.tolist())) == 12
        assert found[6:].tolist() == _best(estimates.prior()[row], free[row], found[:6].tolist(), 6)


def test_a_retriever_that_explains_nothing_names_nothing_beside_one_that_does():
    estimates, free = _estimates(2), np.ones((3, 40), bool)
    for row, found in enumerate(first_rounds(estimates, np.array([0.0, 0.5]), free, 6)):
        assert found[:3].tolist() == _best(estimates.features()[row, 1], free[row], [], 3)


@pytest.mark.parametrize("left", [0, 1, 3, 4])
def test_few_free_items_are_all_taken_once(left):
    free = np.arange(40) < np.array([left, 40, left])[:, None]
    for row, found in enumerate(first_rounds(_estimates(2), np.ones(2), free, 6)):
        assert len(set(found.tolist())) == len(found) == min(6, free[row].sum()) and free[row, found].all()


def test_queries_with_pools_of_their_own_have_the_same_rule():
    parts, free = [_estimates(1, queries=1) for _ in range(2)], PICK.random((2, 40)) < 0.7
    together = first_rounds(PooledEstimates([*parts]), np.ones(1), free, 5)
    alone = [first_rounds(part, np.ones(1), free[row : row + 1], 5)[0] for row, part in enumerate(parts)]
    assert [found.tolist() for found in together] == [found.tolist() for found in alone]


def test_without_retrievers_the_estimates_choose_as_in_every_round():
    assert first_rounds(_estimates(0), np.zeros(0), np.ones((3, 40), bool), 5) is None


@pytest.mark.parametrize("kept", [None, 7, 40])
def test_a_search_begins_so_and_keeps_its_budget(kept):
    words, books = bm25(ITEMS), Books()
    noise = PICK.normal(size=(len(ANCHORS), len(ITEMS))).astype(np.float32)
    anchors = AnchorScores.of(ITEMS, ANCHORS, noise)  # of which no retriever knows anything
    search = residual_cur(scorer(books), anchors, words, budget=12, rounds=2, rank=3, ridge=0.1)
    for query in QUERIES:
        trace = search.trace(query)
        first, ranked = trace.items[trace.rounds == 1], words(query, k=len(ITEMS)).row(0)[0]
        assert first[:3].tolist() == ranked[:3].tolist() and len(first) == 6
    books.pairs.clear()
    found = search(QUERIES, k=60, where=None if kept is None else list(ITEMS)[:kept])
    assert len(books.pairs) == len(set(books.pairs)) == found.stats.model_calls
    assert found.stats.model_calls == len(QUERIES) * min(12, kept or 60)
    exact = full(QUERIES)
    assert all(np.array_equal(found.row(row)[1], exact[row, found.row(row)[0]]) for row in range(len(QUERIES)))
