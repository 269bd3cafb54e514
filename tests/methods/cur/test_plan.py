"""How a budget is divided among rounds."""

from __future__ import annotations

from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.methods.cur.scorers import ANCHORS, ITEMS, QUERIES, full
from vizsla.errors import InputError
from vizsla.evaluation.sweep import variants
from vizsla.methods.cur import adacur, residual_cur, score_anchors
from vizsla.methods.cur.estimates import CurEstimates
from vizsla.methods.cur.factors import Factors
from vizsla.methods.cur.plan import Plan, spend
from vizsla.methods.tfidf import tfidf


@given(st.integers(1, 60), st.integers(1, 90), st.data())
def test_rounds_are_equal_shares_of_what_the_first_leaves(budget, rounds, data):
    first = data.draw(st.none() | st.integers(1, budget))
    rest, later = (budget, rounds) if first is None else (budget - first, max(1, rounds - 1))
    edges = [-(-rest * number // later) for number in range(later + 1)]
    shares = [end - start for start, end in pairwise(edges) if end > start]
    plan = Plan(budget, rounds, first=first)
    sizes = list(plan.sizes())
    assert sizes == ([] if first is None else [first]) + shares and sum(sizes) == budget
    assert plan.first_size() == sizes[0] and plan.largest_size() == max(sizes)


@pytest.mark.parametrize("budget", [7, 10**12])
def test_rounds_without_end_cost_nothing_before_they_are_reached(budget):
    plan = Plan(budget, rounds=2**62)
    assert list(islice(plan.sizes(), 3)) == [1, 1, 1] and plan.largest_size() == 1


def ledgers(stop):
    exact = full(QUERIES)
    return spend(
        CurEstimates(Factors.of(full(ANCHORS)), len(QUERIES), ridge=0.1), np.ones(exact.shape, np.bool_),
        [np.arange(5)] * len(QUERIES), Plan(40, 8, stop=stop, stop_depth=3),
        lambda chosen: [exact[row, items] for row, items in enumerate(chosen)],
        [np.random.default_rng(row) for row in range(len(QUERIES))],
    )  # fmt: skip


def is_over(ledger, rounds, stop):
    """The third best score so far against the best estimate left, by the error of the estimates so far."""
    scores, before = (np.concatenate(each[:rounds]) for each in (ledger.scores, ledger.before))
    known = np.isfinite(before)
    if not known.any():
        return False
    error = float(np.sqrt(((scores - before)[known].astype(np.float64) ** 2).mean()))
    return np.sort(scores)[-3] - ledger.before[rounds].max() > stop * error


@pytest.mark.parametrize("stop", [0.0, 0.5, 1.0, 2.0, 1e5])
def test_a_query_ends_at_the_first_round_that_finds_its_best_settled(stop):
    lengths = []
    for ended, whole in zip(ledgers(stop), ledgers(None), strict=True):
        wanted = next((rounds for rounds in range(1, 8) if is_over(whole, rounds, stop)), 8)
        assert ended.all_items().tolist() == np.concatenate(whole.items[:wanted]).tolist()
        lengths.append(wanted)
    assert (max(lengths) == 8) == (stop == 1e5) or min(lengths) > 1


@pytest.mark.parametrize(("how", "epsilon"), [("topk", 0.0), ("topk", 0.5), ("softmax", 0.0), ("random", 0.0)])
def test_no_query_ends_while_a_better_estimate_is_left_however_items_are_drawn(how, epsilon):
    exact, early = full(QUERIES), 0
    estimates = CurEstimates(Factors.of(full(ANCHORS)), len(QUERIES), ridge=0.1)
    found = spend(
        estimates, np.ones(exact.shape, np.bool_), [np.arange(5)] * len(QUERIES),
        Plan(40, 8, how=how, epsilon=epsilon, stop=0.1, stop_depth=3),
        lambda chosen: [exact[row, items] for row, items in enumerate(chosen)],
        [np.random.default_rng(row) for row in range(len(QUERIES))],
    )  # fmt: skip
    for believed, ledger in zip(estimates.scores(), found, strict=True):  # one that has ended learns nothing more
        if len(ledger.all_items()) < 40:
            early += 1
            left = np.delete(believed, ledger.all_items())
            assert np.sort(ledger.all_scores())[-3] > left.max()
    assert early


def test_stopping_saves_calls_and_is_stored(tmp_path):
    words = tfidf(ITEMS)
    search = adacur(words, score_anchors(words, ANCHORS), budget=40, rounds=8, stop=0.5)
    search.save(tmp_path / "search")
    opened = type(search).load(tmp_path / "search")
    assert opened.plan == search.plan and opened.plan.stop == 0.5
    calls = [made(QUERIES, k=10).stats.model_calls for made in (search, search.with_budget(50))]
    assert calls[0] < 40 * len(QUERIES) and calls[1] < 50 * len(QUERIES), calls
    assert search("a b c", k=10).ids == search(QUERIES, k=10).ids[:1], "alone as in company"


def test_a_plan_can_be_changed_without_fitting_anything_again():
    words = tfidf(ITEMS)
    anchors = score_anchors(words, ANCHORS)
    search = adacur(words, anchors, budget=40, rounds=8)
    changed, built = search.with_plan(rounds=3, epsilon=0.25), adacur(words, anchors, budget=40, rounds=3, epsilon=0.25)
    assert changed.plan == built.plan and search.plan.rounds == 8
    assert changed(QUERIES, k=40).ids == built(QUERIES, k=40).ids
    assert changed.recipe == built.recipe
    with pytest.raises(InputError, match="`changes` must be one of rounds"):
        search.with_plan(budget=3)


def test_rounds_and_stop_of_a_search_that_keeps_no_anchors_can_be_swept():
    words = tfidf(ITEMS)
    search = residual_cur(words, score_anchors(words, ANCHORS), words, budget=20)
    for setting, values in (("rounds", [2, 5]), ("stop", [0.5, 2.0])):
        made = dict(variants(search, setting, values, None))
        assert [getattr(one.plan, setting) for one in made.values()] == values
        assert made[values[0]](QUERIES, k=5).ids == search.with_plan(**{setting: values[0]})(QUERIES, k=5).ids
