"""In every composition, the calls reported are the calls made, no pair is sent twice, and a Budget holds."""

from __future__ import annotations

import warnings
from functools import cache

import pytest

from tests.contract.catalog import CLICKED, CLICKS, ITEMS, QUERIES
from tests.evaluation.judged_dict import JudgedDict
from tests.scorers.counted import counted_scorer
from tests.support.table_retriever import TableRetriever
from vizsla.artifacts.artifact import load
from vizsla.base.scorer import unwrapped
from vizsla.compose.shards import shards
from vizsla.core.candidates import PairScores, Stats
from vizsla.data.dataset import Dataset
from vizsla.encoders.lsa import LsaEncoder
from vizsla.errors import BudgetError, CompositionError
from vizsla.evaluation.compare import compare
from vizsla.evaluation.evaluate import evaluate
from vizsla.methods.bm25 import bm25
from vizsla.methods.pefa import pefa_xl
from vizsla.scorers.cache import ScoreCache
from vizsla.scorers.wrappers import Budget

DISTINCT = list(dict.fromkeys(QUERIES))
# No two of one text, so that a pair of texts that is sent twice is a pair that is sent twice.
ITEMS = {id: text for id, text in ITEMS.items() if id not in ("twin 2", "empty")}
assert len(set(ITEMS.values())) == len(ITEMS)
A, B = bm25(ITEMS), bm25(ITEMS, b=0.0, k1=0.2)
BACKWARDS = bm25(dict(reversed(ITEMS.items())), k1=0.5)


@cache
def lsa() -> LsaEncoder:
    return LsaEncoder.fit(ITEMS.values(), dim=24)


def voted(base):
    with warnings.catch_warnings(action="ignore"):
        log = Dataset.of(ITEMS, queries=CLICKED, clicks=CLICKS, dangling="warn")
    return pefa_xl(base, log, encoder=lsa(), weight=0.4, neighbors=5, votes="mean", near=0.0, threshold=0.0)


SHAPES = {
    "rerank": lambda s: A.rerank(s, depth=10),
    "sum of two reranks": lambda s: A.rerank(s, depth=10) + B.rerank(s, depth=10),
    "sum over another order": lambda s: A.rerank(s, depth=10) + BACKWARDS.rerank(s, depth=10),
    "normalized": lambda s: A.rerank(s, depth=10).normalized(depth=15),
    "normalized sum": lambda s: A.rerank(s, depth=10).normalized() + B.rerank(s, depth=10).normalized("minmax"),
    "fusion": lambda s: A.rerank(s, depth=10).normalized("rank") + B.normalized("rank"),
    "union": lambda s: A.union(B, depth=10) >> s,
    "rerank twice": lambda s: (A.rerank(s, depth=20) % 5) >> s,
    "pefa-xl": lambda s: voted(A.rerank(s, depth=10)),
    "sum of pefa-xl": lambda s: voted(A.rerank(s, depth=10)).normalized() + B.rerank(s, depth=10).normalized(),
}
WRAPS = {
    "plain": lambda s, path: s,
    "budget": lambda s, path: Budget(s, calls=10**6),
    "cache": lambda s, path: ScoreCache(s, path, chunk=7),
    "cache in budget": lambda s, path: Budget(ScoreCache(s, path, chunk=7), calls=10**6),
    "budget in cache": lambda s, path: ScoreCache(Budget(s, calls=10**6), path, chunk=7),
}


def budget_of(scorer):
    """The budget among the wrappers; None without one."""
    while scorer is not None and not isinstance(scorer, Budget):
        scorer = scorer.wrapped
    return scorer


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("shape", SHAPES)
def test_calls_reported_are_calls_made_and_no_pair_is_sent_twice(shape, wrap, tmp_path):
    function, plain = counted_scorer(items=ITEMS)
    scorer = WRAPS[wrap](plain, tmp_path / "scores.db")
    search = SHAPES[shape](scorer)
    built = len(function.pairs)  # PEFA-XL looks at its base while it is built
    assert budget_of(scorer) is None or budget_of(scorer).spent == built
    found = search(DISTINCT, k=5)
    made = function.pairs[built:]
    assert len(made) == found.stats.model_calls
    assert budget_of(scorer) is None or budget_of(scorer).spent == built + len(made)
    assert len(made) == len(set(made)) > 0


@pytest.mark.parametrize("shape", SHAPES)
def test_calls_reported_are_calls_made_under_a_filter_and_for_scores(shape):
    """A scale is read from what may not be found, too: its calls are on the bill."""
    function, scorer = counted_scorer(items=ITEMS)
    search, where = SHAPES[shape](scorer), list(ITEMS)[::3]
    function.calls.clear()
    found = search(DISTINCT, k=5, where=where)
    assert len(function.pairs) == len(set(function.pairs)) == found.stats.model_calls > 0
    function.calls.clear()
    scored = search.score(DISTINCT, found, where=where)
    assert len(function.pairs) == len(set(function.pairs)) == scored.stats.model_calls > 0


@pytest.mark.parametrize("wrap", list(WRAPS)[1:])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_stands_around_a_scorer_changes_no_answer(shape, wrap, tmp_path):
    truth = SHAPES[shape](counted_scorer(items=ITEMS)[1])(QUERIES, k=7)
    for _ in range(2):  # the second time from what the cache has stored
        scorer = WRAPS[wrap](counted_scorer(items=ITEMS)[1], tmp_path / "scores.db")
        search = SHAPES[shape](scorer)
        found = search(QUERIES, k=7)
        assert found == truth
        assert search.score(QUERIES, found) == SHAPES[shape](counted_scorer(items=ITEMS)[1]).score(QUERIES, found)
    assert "cache" not in wrap or found.stats.model_calls == 0


@pytest.mark.parametrize("shape", SHAPES)
def test_no_composition_gets_past_a_budget(shape, tmp_path):
    function, scorer = counted_scorer(items=ITEMS)
    SHAPES[shape](scorer)(QUERIES, k=5)  # and what building it costs
    needed = len(function.pairs)
    for calls, enough in ((needed, True), (needed - 1, False)):
        function.calls.clear()
        budget = Budget(scorer, calls=calls)
        if enough:
            SHAPES[shape](budget)(QUERIES, k=5)
        else:
            with pytest.raises(BudgetError):
                SHAPES[shape](budget)(QUERIES, k=5)
        assert len(function.pairs) == budget.spent <= calls


def test_a_sum_of_two_reranks_sends_no_pair_twice_and_reports_all():
    """It made 300 calls and reported 100."""
    items = {str(n): f"fig {n}" for n in range(150)}
    function, scorer = counted_scorer(items=items)
    first, second = bm25(items), bm25(dict(list(items.items())[::-1]))
    found = (first.rerank(scorer, depth=100) + second.rerank(scorer, depth=100))("fig", k=10)
    assert len(function.pairs) == len(set(function.pairs)) == found.stats.model_calls == 150


def test_one_scorer_with_and_without_a_budget_is_one_scorer_to_the_call():
    function, scorer = counted_scorer(items=ITEMS)
    budget = Budget(scorer, calls=1)
    (A.rerank(scorer, depth=10) + A.rerank(budget, depth=10))("fig tree", k=5)
    assert budget.spent == 0
    assert len(function.pairs) == len(A("fig tree", k=100).ids[0])


def test_compare_shows_model_calls():
    pytest.importorskip("ir_measures")
    function, scorer = counted_scorer(items=ITEMS)
    judged = {str(n): {A(text, k=1).ids[0][0]: 1} for n, text in enumerate(QUERIES) if A(text, k=1).ids[0]}
    data = JudgedDict({query: QUERIES[int(query)] for query in judged}, judged)
    budget = Budget(scorer, calls=10**6)
    table = compare({"plain": A, "reranked": A.rerank(budget, depth=3)}, data, measures=["R@5"], latency_queries=0)
    costs = {name: done.cost for name, done in table.evaluations.items()}
    assert costs["plain"].model_calls == 0
    assert costs["reranked"].model_calls == len(function.pairs) / len(judged) > 0
    assert budget.spent == len(function.pairs)
    shown = next(line for line in table.to_markdown().splitlines() if "reranked" in line)
    assert float(shown.split("|")[-2]) == costs["reranked"].model_calls


def test_saving_writes_the_scorer_inside(tmp_path):
    budget = Budget(B, calls=500)
    search = A.rerank(budget, depth=10)
    truth = search(QUERIES, k=5)
    search.save(tmp_path / "saved")
    loaded = load(tmp_path / "saved")
    assert loaded(QUERIES, k=5) == truth
    assert type(loaded.scorer) is type(B)
    assert unwrapped(budget) is B


def test_code_inside_a_budget_or_a_cache_is_refused_as_code(tmp_path):
    _, scorer = counted_scorer(items=ITEMS)
    for wrapped in (Budget(scorer, calls=5), ScoreCache(scorer, tmp_path / "s.db")):
        with pytest.raises(CompositionError, match="Got FunctionScorer, which is code"):
            (A >> wrapped).save(tmp_path / "saved")


def test_explain_costs_one_call():
    function, scorer = counted_scorer(items=ITEMS)
    budget = Budget(scorer, calls=1)
    assert (A >> budget).explain("fig", "twin 1").score == pytest.approx(1.0071, abs=1e-4)
    assert (budget.left, len(function.pairs)) == (0, 1)


@pytest.mark.parametrize("shape", SHAPES)
def test_explain_sends_no_pair_twice(shape):
    function, scorer = counted_scorer(items=ITEMS)
    search = SHAPES[shape](scorer)
    hit = search("fig tree", k=1)[0][0]
    function.calls.clear()
    assert search.explain("fig tree", hit.id).score == pytest.approx(hit.score, abs=1e-5)
    assert len(function.pairs) == len(set(function.pairs)) > 0


class Asking(TableRetriever):
    """A retriever that pays for every score, and counts the pairs."""

    model_calls = True

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.asked = []

    def _score(self, queries, candidates, filter, threads):
        self.asked += self.items.take(candidates.items)
        scored = super()._score(queries, candidates, filter, threads)
        return PairScores(scored.scores, Stats(model_calls=len(candidates.items)))


def test_shards_that_call_models_are_asked_once():
    table = {"q": {id: 1.0 + n for n, id in enumerate("abcd")}}
    parts = [Asking(table, list(ids), scale="paid") for ids in ("ab", "cd")]
    others = TableRetriever({"q": {"a": 2.0, "d": 1.0}}, list("abcd"), scale="x")
    paid = shards(parts)
    found = ((others >> paid) + (others >> paid))("q", k=4)
    asked = [id for part in parts for id in part.asked]
    assert len(asked) == len(set(asked)) == found.stats.model_calls == 2


def judged_queries() -> JudgedDict:
    judged = {str(n): {A(text, k=1).ids[0][0]: 1} for n, text in enumerate(QUERIES) if A(text, k=1).ids[0]}
    return JudgedDict({query: QUERIES[int(query)] for query in judged}, judged)


def test_evaluation_makes_no_model_call_for_a_time_that_nobody_asked_for():
    pytest.importorskip("ir_measures")
    function, scorer = counted_scorer(items=ITEMS)
    budget = Budget(scorer, calls=10**6)
    done = evaluate(A.rerank(budget, depth=3), judged_queries(), measures="R@5")
    assert budget.spent == len(function.pairs) == round(done.cost.model_calls * done.cost.queries) > 0
    assert done.cost.ms_p50 is None and evaluate(A, judged_queries(), measures="R@5").cost.ms_p50 is not None
    assert evaluate(A.rerank(scorer, depth=3), judged_queries(), measures="R@5", latency_queries=2).cost.ms_p50 > 0
    assert len(function.pairs) > 2 * budget.spent


def test_a_run_is_not_lost_when_its_budget_does_not_cover_times():
    pytest.importorskip("ir_measures")
    _, scorer = counted_scorer(items=ITEMS)
    free = evaluate(A.rerank(scorer, depth=3), judged_queries(), measures="R@5")
    budget = Budget(scorer, calls=round(free.cost.model_calls * free.cost.queries))
    done = evaluate(A.rerank(budget, depth=3), judged_queries(), measures="R@5", latency_queries=5)
    assert done.measures == free.measures and done.cost.ms_p50 is None and budget.left == 0
