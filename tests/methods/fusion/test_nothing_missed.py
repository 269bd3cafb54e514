"""What is not looked at cannot win: clicked items deep in every list, and neighbors of the best under each rule."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.support.table_retriever import TableRetriever
from vizsla.learning.measures import ndcgs
from vizsla.learning.selection import Judge
from vizsla.methods.fusion.candidate_pool import CANDIDATES_PER_PART, make_pool
from vizsla.methods.fusion.fit import _tried
from vizsla.methods.fusion.rules import SignificanceRule, protected
from vizsla.methods.fusion.scaling import LOG_SCALE, FusionTrial, alone
from vizsla.methods.fusion.weight_search import WEIGHT_STEPS, moves

QUERIES, DEPTH = 12, 90
ITEMS = [f"i{number:03}" for number in range(200)]


def deep_parts(scale: str) -> list[TableRetriever]:
    """Return two parts with no item in common but one, which stands ever deeper in both lists."""
    tables: list[dict[str, dict[str, float]]] = [{}, {}]
    for query in range(QUERIES):
        place = CANDIDATES_PER_PART - QUERIES // 2 + query
        for at, table in enumerate(tables):
            own = [name for name in ITEMS[1:] if int(name[1:]) % 2 == at][: DEPTH - 1]
            own.insert(place, ITEMS[0])
            table[f"query {query}"] = {name: 9.0 - 0.001 * rank for rank, name in enumerate(own)}
    return [TableRetriever(table, ITEMS, scale=scale) for table in tables]


@pytest.mark.parametrize("how", ["none", "minmax", "zscore", "rank", "linear", "exp"])
def test_a_clicked_item_that_only_the_sum_puts_first_counts_however_deep_it_lies(how):
    parts = deep_parts(LOG_SCALE if how == "exp" else "points")
    texts = [f"query {number}" for number in range(QUERIES)]
    clicks = csr_array((np.ones(QUERIES, np.float32), (range(QUERIES), [0] * QUERIES)), shape=(QUERIES, len(ITEMS)))
    pool = make_pool(parts, texts, clicks, depth=DEPTH)
    for weights in ((0.5, 0.5), (0.4, 0.6)):
        trial = FusionTrial(how, weights)
        found = trial.composed(parts, pool.rules, depth=DEPTH)(texts, 10)
        wanted = ndcgs(found, clicks, depth=10)
        assert pool.measured(trial) == pytest.approx(wanted, abs=1e-12)
        # By rank it stands behind the first ones of either list, elsewhere before all.
        assert wanted.max() == (1 if how != "rank" else pytest.approx(wanted.max())) and (wanted > 0).all()
    for part in range(2):
        assert pool.measured(alone(part, 2)).max() == 0


class TwoSided:
    """Quality by formula: warm queries are served best at some weights, and cold ones lose by most of these."""

    parts = 3

    def __init__(self, judge: Judge, peaks: tuple[float, ...]):
        self.cold, self.peaks, self.asked = judge.cold, peaks, []

    def measured(self, trial: FusionTrial) -> np.ndarray:
        self.asked.append(trial)
        away = sum(abs(weight - peak) for weight, peak in zip(trial.weights, self.peaks, strict=True))
        cold = 0.5 if max(trial.weights) > 0.75 else 0.1
        return np.where(self.cold, cold, 0.9 - 0.2 * away) + 0.001 * np.random.default_rng(0).normal(size=200)


@pytest.mark.parametrize("peaks", [(0.53, 0.27, 0.2), (0.31, 0.64, 0.05), (0.45, 0.1, 0.45)])
@pytest.mark.parametrize("cold", [0.05, 0.4])
def test_under_each_rule_no_neighbor_of_its_best_sum_is_left_untried(peaks, cold):
    judge = Judge.of_cold(np.arange(200) < 100, cold)
    pool = TwoSided(judge, peaks)
    tried = _tried(pool, judge, [False] * 3, ["bm25", LOG_SCALE, "bm25"])
    singles = [tried[alone(part, 3)] for part in range(3)]
    for kinds in {protected(judge), judge.common}:
        rule = SignificanceRule.of(judge, singles, kinds=kinds)
        for used in [pair for size in (2, 3) for pair in combinations(range(3), size)]:
            for how in {trial.how for trial in tried}:
                alike = [trial for trial in tried if trial.how == how and len(trial.used) == len(used)]
                best = max(alike, key=lambda trial: rule.rank(tried[trial]), default=None)
                for weights in () if best is None else moves(best.weights, WEIGHT_STEPS[-1]):
                    assert best._replace(weights=weights) in tried, (kinds, best)
