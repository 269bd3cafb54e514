"""`paper=True` against numpy's pseudo-inverse, anchors per query, and Top-k-Recall@B by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.methods.cur.scorers import ANCHORS, ITEMS, QUERIES, full, scorer
from vizsla.errors import InputError
from vizsla.evaluation import top_k_recall
from vizsla.methods.bm25 import bm25
from vizsla.methods.cur import AnchorScores, adacur, anncur
from vizsla.methods.tfidf import tfidf

NAMES = list(ITEMS)
ANCHORED = full(ANCHORS).astype(np.float64)


def anchors(storage="float32"):
    return AnchorScores.of(ITEMS, ANCHORS, full(ANCHORS), storage=storage)


def estimated(bought, exact):
    """Return Ŝ = C · pinv(R_anc[:, I]) · R_anc of the paper."""
    return exact[bought] @ np.linalg.pinv(ANCHORED[:, bought]) @ ANCHORED


@pytest.mark.parametrize("query", QUERIES[:3])
def test_every_round_takes_the_best_by_the_pseudo_inverse(query):
    search = adacur(scorer(), anchors(), budget=20, paper=True, seed=4)
    assert search.plan.rounds == 5 and search.ridge == 0
    trace, exact = search.trace(query), full([query])[0].astype(np.float64)
    for number in range(2, 6):
        bought, chosen = trace.items[trace.rounds < number], trace.items[trace.rounds == number]
        estimates = estimated(bought, exact)
        free = np.setdiff1d(np.arange(len(NAMES)), bought)
        worst, others = estimates[chosen].min(), np.setdiff1d(free, chosen)
        assert len(chosen) == 4 and estimates[others].max(initial=-np.inf) <= worst + 1e-4


@pytest.mark.parametrize(
    ("given", "paper", "taken"), [(None, False, 10), (None, True, 5), (10, True, 10), (5, False, 5)]
)
def test_rounds_are_the_papers_only_where_none_are_given(given, paper, taken):
    search = adacur(scorer(), anchors(), budget=20, rounds=given, paper=paper, seed=4)
    assert search.plan.rounds == taken == search.trace(QUERIES[0]).rounds.max()


@pytest.mark.parametrize("query", QUERIES[:3])
def test_anncur_takes_each_querys_own_anchors_from_a_retriever(query):
    first = tfidf(ITEMS)
    search = anncur(scorer(), anchors(), budget=12, first=first, first_calls=3, paper=True)
    trace, exact = search.trace(query), full([query])[0].astype(np.float64)
    found = first(query, k=3).items.tolist()
    assert trace.items[: len(found)].tolist() == found and (trace.rounds[:3] == 1).all()
    estimates = estimated(trace.items[:3], exact)
    free = np.setdiff1d(np.arange(len(NAMES)), trace.items)
    assert (trace.rounds[3:] == 2).all() and estimates[free].max() <= estimates[trace.items[3:]].min() + 1e-4
    assert search.refit_on is not None and anncur(scorer(), anchors(), budget=9, first=first).plan.first == 4


def test_what_contradicts_the_paper_is_refused():
    with pytest.raises(InputError, match="stored in float32"):
        adacur(scorer(), anchors("float16"), paper=True)
    with pytest.raises(InputError, match="`ridge` must be left alone"):
        adacur(scorer(), anchors(), paper=True, ridge=0.3)
    with pytest.raises(InputError, match="Only one of"):
        anncur(scorer(), anchors(), first=bm25(ITEMS), anchor_items=3)
    with pytest.raises(InputError, match="at most the budget"):
        anncur(scorer(), anchors(), budget=4, first=bm25(ITEMS), first_calls=5)
    with pytest.raises(InputError, match="must be given with `first`"):
        anncur(scorer(), anchors(), first_calls=5)


def test_top_k_recall_is_the_share_of_the_exact_best():
    exact = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "r": {"d": 2.0, "a": 1.0}}
    found = {"q": {"c": 1.0, "a": 3.0}, "r": {"e": 9.0, "d": 2.0}}
    assert top_k_recall(found, exact, 2) == 0.5
    assert top_k_recall(found, exact, 1) == 1.0
    assert top_k_recall(found, exact, 1, calls=1) == 0.5
    assert top_k_recall(found, exact, 3) == pytest.approx((2 / 3 + 1 / 2) / 2)
    search = adacur(scorer(), anchors(), budget=15)
    asked, best = search(QUERIES, k=15), search.exact(QUERIES, k=5)
    by_hand = [np.isin(best.row(at)[0], asked.row(at)[0]).mean() for at in range(len(QUERIES))]
    assert top_k_recall(asked, best, 5) == pytest.approx(np.mean(by_hand))
    with pytest.raises(InputError, match="answer at least one query"):
        top_k_recall({"q": {"a": 1.0}}, {"q": {}})
