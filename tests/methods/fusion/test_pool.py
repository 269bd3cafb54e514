"""A pool's trials are what the real compositions answer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.methods.fusion.logs import ITEMS, text
from tests.support.table_retriever import TableRetriever
from vizsla.learning.measures import ndcgs
from vizsla.methods.cold_items import ColdItemBoost
from vizsla.methods.fusion.candidate_pool import make_pool
from vizsla.methods.fusion.scaling import FusionTrial
from vizsla.methods.fusion.weight_search import grid

QUERIES, DEPTH = 60, 15


def sparse_part(seed: int, *, items: list[str] = ITEMS, scale: str = "points") -> TableRetriever:
    """Return a part that finds some items of every query but the last, with equal scores among them."""
    pick = np.random.default_rng(seed)
    table: dict[str, dict[str, float]] = {}
    for query in range(QUERIES - 1):
        chosen = pick.permutation(len(items))[: pick.integers(1, len(items))]
        table[text(query)] = {items[at]: float(pick.integers(1, 9)) for at in chosen}
    return TableRetriever(table, items, scale=scale)


def wanted() -> csr_array:
    pick = np.random.default_rng(9)
    judged = np.zeros((QUERIES, len(ITEMS)), np.float32)
    for row in range(QUERIES):
        judged[row, pick.permutation(len(ITEMS))[: pick.integers(1, 4)]] = 1
    return csr_array(judged)


@pytest.mark.parametrize("how", ["none", "minmax", "zscore", "rank", "linear", "exp"])
def test_every_trial_is_its_composition(how):
    parts = [sparse_part(seed, scale="log relevance" if seed and how == "exp" else "points") for seed in range(3)]
    texts, clicks = [text(query) for query in range(QUERIES)], wanted()
    pool = make_pool(parts, texts, clicks, depth=DEPTH)
    for weights in grid(3):
        trial = FusionTrial(how, weights)
        found = trial.composed(parts, pool.rules, depth=DEPTH)(texts, 10)
        assert pool.measured(trial) == pytest.approx(ndcgs(found, clicks, depth=10), abs=1e-12), trial


@pytest.mark.parametrize("how", ["linear", "exp"])
@pytest.mark.parametrize("lift", [0.3, 1.7])
def test_a_lifted_trial_is_its_composition(how, lift):
    parts = [sparse_part(seed, scale="log relevance" if seed else "points") for seed in range(2)]
    texts, clicks = [text(query) for query in range(QUERIES)], wanted()
    new = ColdItemBoost.of([("some query", item) for item in ITEMS[::3]], parts[0].items)
    pool = make_pool(parts, texts, clicks, depth=DEPTH, unclicked=new.units == 0)
    for weights in [weights for weights in grid(2) if min(weights) > 0]:
        trial = FusionTrial(how, weights, lift)
        found = trial.composed(parts, pool.rules, depth=DEPTH, lifted=new)(texts, 10)
        assert pool.measured(trial) == pytest.approx(ndcgs(found, clicks, depth=10), abs=1e-12), trial


def test_parts_may_number_their_items_differently():
    parts = [sparse_part(0), sparse_part(1, items=ITEMS[::-1])]
    texts, clicks = [text(query) for query in range(QUERIES)], wanted()
    trial = FusionTrial("zscore", (0.3, 0.7))
    pool = make_pool(parts, texts, clicks, depth=DEPTH)
    measured, found = pool.measured(trial), trial.composed(parts, pool.rules, depth=DEPTH)(texts, 10)
    assert measured == pytest.approx(ndcgs(found, clicks, depth=10), abs=1e-12)


def test_threads_change_nothing():
    parts, texts = [sparse_part(0), sparse_part(1)], [text(query) for query in range(QUERIES)]
    one, two = (make_pool(parts, texts, wanted(), depth=DEPTH, threads=threads) for threads in (1, 2))
    trial = FusionTrial("minmax", (0.5, 0.5))
    assert np.array_equal(one.measured(trial), two.measured(trial))
