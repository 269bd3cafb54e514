"""Law 6: a large budget is exhaustive; one round with fixed anchors is ANNCUR; no call too many, in any composition."""

from __future__ import annotations

import numpy as np
import pytest

from tests.methods.cur.scorers import ANCHORS, ITEMS, QUERIES, Books, full, scorer
from vizsla.errors import BudgetError, CompositionError, InputError
from vizsla.methods.bm25 import bm25
from vizsla.methods.cur import AnchorScores, adacur, anncur, residual_cur
from vizsla.methods.cur.plan import best_places
from vizsla.methods.tfidf import tfidf
from vizsla.scorers.cache import ScoreCache
from vizsla.scorers.text import FunctionScorer
from vizsla.scorers.wrappers import Budget


def anchors(storage: str = "float32") -> AnchorScores:
    return AnchorScores.of(ITEMS, ANCHORS, full(ANCHORS), storage=storage)


WORDS = bm25(ITEMS)
SEARCHES = {
    "adacur": lambda s, b: adacur(s, anchors(), budget=b, rounds=4),
    "adacur first": lambda s, b: adacur(s, anchors(), budget=b, rounds=3, first=WORDS, epsilon=0.3),
    "adacur plain": lambda s, b: adacur(s, anchors(), budget=b, rounds=4, ridge=0),
    "adacur softmax": lambda s, b: adacur(s, anchors("float16"), budget=b, how="softmax"),
    "adacur pool": lambda s, b: adacur(s, anchors(), budget=b, pool=WORDS, pool_size=25),
    "adacur softmax pool": lambda s, b: adacur(s, anchors(), budget=b, how="softmax", pool=WORDS, pool_size=25),
    "anncur": lambda s, b: anncur(s, anchors("int8"), budget=b),
    "residual": lambda s, b: residual_cur(s, anchors(), WORDS, budget=b, rounds=5, rank=4, ridge=0.1),
    "residual both": lambda s, b: residual_cur(s, anchors(), [WORDS, tfidf(ITEMS)], budget=b, rank=4, ridge=0.1),
    "residual pool": lambda s, b: residual_cur(s, anchors(), WORDS, budget=b, rank=4, ridge=0.1, pool=WORDS),
    "no prior": lambda s, b: residual_cur(s, anchors(), budget=b, rank=4, ridge=0.1),
}


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("budget", [1, 7, 30])
def test_no_call_over_budget_no_pair_twice_and_an_honest_bill(name, budget):
    books = Books()
    found = SEARCHES[name](scorer(books), budget)(QUERIES, k=60)
    assert found.stats.model_calls == len(books.pairs) == len(set(books.pairs))
    asked = [sum(query == q for query, _ in books.pairs) for q in QUERIES]
    assert max(asked) <= budget
    if "pool" not in name:
        assert min(asked) == budget
    exact = full(QUERIES)
    for row in range(len(QUERIES)):
        items, scores = found.row(row)
        assert np.array_equal(scores, exact[row, items])


@pytest.mark.parametrize("name", [name for name in SEARCHES if "pool" not in name])
@pytest.mark.parametrize("budget", [60, 1000])
def test_a_budget_for_all_items_is_exhaustive_scoring(name, budget):
    found = SEARCHES[name](scorer(), budget)(QUERIES, k=10)
    assert found.stats.exact and found.stats.model_calls == 60 * len(QUERIES)
    for row, scores in enumerate(full(QUERIES)):
        assert found.row(row)[0].tolist() == best_places(scores, 10).tolist()


def test_one_round_with_fixed_anchors_is_anncur():
    chosen = [3, 14, 15, 9, 26]
    search = anncur(scorer(), anchors(), budget=12, anchor_items=[list(ITEMS)[n] for n in chosen], ridge=0)
    found, known = search(QUERIES, k=60), full(ANCHORS).astype(np.float64)
    for row, exact in enumerate(full(QUERIES)):
        estimates = exact[chosen] @ np.linalg.pinv(known[:, chosen], rcond=1e-6) @ known
        estimates[chosen] = -np.inf
        expected = {*chosen, *np.argsort(-estimates, kind="stable")[:7].tolist()}
        assert set(found.row(row)[0].tolist()) == expected


def test_rounds_follow_algorithm_1():
    search = adacur(scorer(), anchors(), budget=12, rounds=4, first=WORDS, ridge=0)
    known = full(ANCHORS).astype(np.float64)
    for query, exact in zip(QUERIES, full(QUERIES), strict=True):
        trace = search.trace(query)
        for round in (2, 3, 4):
            before, now = trace.items[trace.rounds < round], trace.items[trace.rounds == round]
            estimates = exact[before] @ np.linalg.pinv(known[:, before], rcond=1e-6) @ known
            assert np.allclose(trace.before[trace.rounds == round], estimates[now], atol=1e-4)
            left = np.delete(estimates, before)
            assert np.sort(estimates[now])[0] >= np.sort(left)[::-1][2] - 1e-4


@pytest.mark.parametrize("name", SEARCHES)
def test_a_query_is_answered_alike_in_any_company(name):
    search = SEARCHES[name](scorer(), 12)
    together = search(QUERIES, k=12)
    for row, query in enumerate(QUERIES):
        alone = search(query, k=12)
        assert np.array_equal(alone.row(0)[0], together.row(row)[0])
        assert np.array_equal(alone.row(0)[1], together.row(row)[1])


def test_the_scorer_sees_a_round_of_all_queries_at_once():
    books = Books()
    adacur(scorer(books), anchors(), budget=20, rounds=4)(QUERIES)
    assert books.calls == 4


@pytest.mark.parametrize("name", SEARCHES)
def test_a_query_that_is_asked_twice_in_a_call_is_paid_for_once(name):
    books = Books()
    found = SEARCHES[name](scorer(books), 7)([QUERIES[0], QUERIES[1], QUERIES[0]], k=60)
    assert found.stats.model_calls == len(books.pairs) == len(set(books.pairs)) <= 14
    assert found.ids[0] == found.ids[2] and len(found.ids[2])


def test_compositions_pay_for_a_pair_once():
    books = Books()
    shared = scorer(books)
    search = SEARCHES["residual"](shared, 20)
    for whole in (search >> shared, search % 5, (search | WORDS) >> shared):
        books.pairs.clear()
        found = whole(QUERIES, k=5)
        assert found.stats.model_calls == len(books.pairs) == len(set(books.pairs))


def test_a_budget_around_the_scorer_holds():
    limited = Budget(scorer(), per_query=10)
    assert SEARCHES["residual"](limited, 10)(QUERIES).stats.model_calls == 50
    with pytest.raises(BudgetError):
        SEARCHES["residual"](limited, 11)(QUERIES)


def test_what_was_paid_for_outlives_a_failure(tmp_path):
    first, again = Books(fails_after=33), Books()
    with pytest.raises(RuntimeError, match="out of order"):
        SEARCHES["residual"](ScoreCache(scorer(first), tmp_path / "scores.db", chunk=5), 20)(QUERIES)
    found = SEARCHES["residual"](ScoreCache(scorer(again), tmp_path / "scores.db", chunk=5), 20)(QUERIES, k=20)
    assert found == SEARCHES["residual"](scorer(), 20)(QUERIES, k=20)
    assert len(again.pairs) == 20 * len(QUERIES) - 30  # the chunk that failed is paid for again
    assert found.stats.model_calls == len(again.pairs)


def test_explains_the_round_the_estimate_and_the_calls():
    search = SEARCHES["residual"](scorer(), 20)
    trace = search.trace(QUERIES[0])
    last = int(trace.items[-1])
    why = search.explain(QUERIES[0], search.items[last])
    assert why.score == pytest.approx(float(trace.exact[-1]))
    assert "found in round 5 of 5; 20 items scored for this query, 20 calls" in why.reason
    guess, correction = why.parts
    assert guess.score == pytest.approx(float(trace.before[-1]), abs=1e-5)
    assert guess.score + correction.score == pytest.approx(why.score, abs=1e-5)
    prior, residual = guess.parts
    assert prior.score + residual.score == pytest.approx(guess.score, abs=1e-5)
    assert prior.score == pytest.approx(float(trace.prior[last]), abs=1e-5)


def test_a_filter_and_a_pool_leave_out_what_they_must():
    allowed = np.arange(60) % 2 == 0
    found = SEARCHES["residual"](scorer(), 40)(QUERIES, k=60, where=allowed)
    assert all(set(row.tolist()) == set(np.flatnonzero(allowed).tolist()) for row in np.split(found.items, 5))
    pool = WORDS(QUERIES, k=25)
    found = SEARCHES["adacur pool"](scorer(), 25)(QUERIES, k=60)
    assert all(set(found.row(n)[0]) == set(pool.row(n)[0]) for n in range(len(QUERIES)))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("odd", [-np.inf, np.inf])
def test_infinite_scores_are_ranked_and_teach_nothing(name, odd):
    """A scorer may say "never": what else is found goes by the other scores alone."""
    places = {text: at for at, text in enumerate(ITEMS.values())}
    exact = full(QUERIES[:1])[0]
    exact[::4] = odd
    never = FunctionScorer(lambda query, texts: [exact[places[text]] for text in texts], ITEMS, name="never 1")
    search = SEARCHES[name](never, 24)
    items, scores = search(QUERIES[0], k=24).row(0)
    assert np.array_equal(scores, exact[items])
    assert np.isfinite(search.trace(QUERIES[0]).estimates).all()


def test_mistakes_get_clear_errors():
    with pytest.raises(CompositionError, match="`priors` must call no models"):
        residual_cur(scorer(), anchors(), WORDS >> scorer())
    with pytest.raises(CompositionError, match="`first` must call no models"):
        adacur(scorer(), anchors(), first=WORDS >> scorer())
    with pytest.raises(InputError, match="`anchors` or `vectors` must say"):
        residual_cur(scorer())
    with pytest.raises(InputError, match="`how` must be one of"):
        adacur(scorer(), anchors(), how="best")
    with pytest.raises(InputError, match="`ridge` must be between 0 and"):
        adacur(scorer(), anchors(), ridge=-0.1)
    with pytest.raises(InputError, match="`anchor_items` must be between 1 and the budget"):
        anncur(scorer(), anchors(), budget=5, anchor_items=6)
    with pytest.raises(InputError, match="`ridge` must be between 0 and"):
        residual_cur(scorer(), anchors(), ridge=float("nan"))
    with pytest.raises(InputError, match="`items` must be some items"):
        AnchorScores.of([], ["a"], np.zeros((1, 0)))
    with pytest.raises(InputError, match="must know every item"):
        adacur(scorer(), AnchorScores.of(["nobody"], ["a"], [[1.0]]))


def test_an_anchor_item_that_is_given_twice_is_scored_once():
    books = Books()
    found = anncur(scorer(books), anchors(), budget=5, anchor_items=["item 1", "item 1", "item 2"])(QUERIES[0], k=60)
    assert len(set(found.ids[0])) == len(found.ids[0]) == len(set(books.pairs)) == len(books.pairs) == 5


@pytest.mark.parametrize("threads", [0, 2**70])
def test_a_trace_takes_threads_as_a_search_does(threads):
    with pytest.raises(InputError, match="`threads` must be a whole number"):
        SEARCHES["anncur"](scorer(), 7).trace(QUERIES[0], threads=threads)
