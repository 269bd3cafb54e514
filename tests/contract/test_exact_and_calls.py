"""Laws over every kind: `exact` means the brute-force answer, no forbidden pair is scored, reported calls are made."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from functools import cache

import numpy as np
import pytest

from tests.contract.catalog import ITEMS, QUERIES
from tests.contract.registry import INDEXES, RETRIEVERS, RetrieverCase, anchors
from vizsla.base.page import Page
from vizsla.base.queries import Queries
from vizsla.compose.adjustments import adjust
from vizsla.compose.budgeted import rerank
from vizsla.compose.shards import shards
from vizsla.compose.weighted_sum import Sum
from vizsla.core.candidates import Candidates
from vizsla.core.catalog import Item
from vizsla.data.dataset import Dataset
from vizsla.methods.bm25 import bm25
from vizsla.methods.cur import adacur, anncur, residual_cur
from vizsla.methods.tfidf import tfidf
from vizsla.scorers.cache import ScoreCache
from vizsla.scorers.text import FunctionScorer
from vizsla.scorers.wrappers import Budget, Retrying

EVERYTHING = len(ITEMS)
HALF = np.arange(EVERYTHING) % 2 == 0
NONE_BUT_TWO = np.isin(np.arange(EVERYTHING), [4, 61])
MASKS = {"no filter": None, "half": HALF, "two items": NONE_BUT_TWO}


SHORT_SUMS = {
    "sum of short lists": lambda: Sum([(0.7, made("bm25 lucene")), (0.3, made("bm25 bm25+"))], depth=4),
    "sum of short lists, in many calls": lambda: Sum(
        [(0.7, made("scaled")), (0.3, made("bm25 bm25+").scaled("exp", slope=0.1))], depth=4
    ),
    "sum of a tree's short list": lambda: Sum(
        [(0.5, made("xrlinear").normalized(depth=9)), (0.5, made("bm25 lucene").normalized(depth=9))], depth=4
    ),
    "sum of short ranks": lambda: Sum(
        [(1.0, made("dense flat").normalized("rank", depth=6)), (1.0, made("tfidf").normalized("rank", depth=6))],
        depth=4,
    ),
}
"""Sums that see the first few of their parts only: many of their answers are not certain."""

CASES = RETRIEVERS | {name: RetrieverCase(make, exact=False) for name, make in SHORT_SUMS.items()}


@cache
def made(name):
    return CASES[name].make()


def brute_force(retriever, query, mask):
    """Return all allowed items, best first, with their scores: each is scored, whatever a search would find."""
    numbers = np.arange(EVERYTHING, dtype=np.int32) if mask is None else np.flatnonzero(mask).astype(np.int32)
    everything = Candidates.from_rows([numbers], catalog=retriever.items)
    row = retriever.score(query, everything, where=mask).row(0)
    return row[0].tolist(), row[1].tolist()


def findable(retriever, query, item):
    """Whether a search can find the item at all: one that may find nothing else does."""
    return len(retriever(query, 1, where=np.arange(EVERYTHING) == item).items) == 1


@pytest.mark.parametrize("masked", MASKS)
@pytest.mark.parametrize("name", CASES)
def test_an_exact_answer_is_the_brute_force_answer(name, masked):
    case, retriever, mask = CASES[name], made(name), MASKS[masked]
    if not case.scored:
        return
    for query in QUERIES[:4]:
        ranked = None
        for k in (1, 7, EVERYTHING):
            found = retriever(query, k, where=mask)
            if not found.stats.exact:
                assert not case.exact or masked == "no filter", "an exact kind must say so under a filter, too"
                continue
            ranked = ranked or brute_force(retriever, query, mask)
            items, scores = (column.tolist() for column in found.row(0))
            places = [ranked[0].index(item) for item in items]
            assert places == sorted(places) and [ranked[1][place] for place in places] == scores
            # What stands before the last, or anywhere if fewer than k were found, is what no search can find.
            end = places[-1] if len(items) == k else len(ranked[0])
            missing = [item for item in ranked[0][:end] if item not in items]
            assert not any(findable(retriever, query, item) for item in missing[:6])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.scored])
def test_the_exact_twin_scores_everything(name):
    retriever = made(name)
    for mask in (None, HALF):
        found = retriever.exact(QUERIES[1], 9, where=mask)
        allowed = EVERYTHING if mask is None else int(mask.sum())
        if found.stats.estimated:
            assert not found.stats.exact
            continue
        assert found.stats.exact and len(found.items) == min(9, allowed)
        if not hasattr(retriever, "budget"):  # whose own scores are estimates where its budget ends
            items, scores = brute_force(retriever, QUERIES[1], mask)
            assert found.row(0)[0].tolist() == items[:9] and found.row(0)[1].tolist() == scores[:9]


@pytest.mark.parametrize("name", INDEXES)
def test_an_index_that_calls_its_answer_exact_has_scored_better_than_all_others(name):
    index, queries = INDEXES[name]()
    rows = queries.shape[0]
    everything = Candidates.from_rows([np.arange(EVERYTHING, dtype=np.int32)] * rows)
    scores = index.scores(queries, everything).scores.reshape(rows, EVERYTHING)
    for mask in (None, HALF, NONE_BUT_TWO):
        allowed = np.arange(EVERYTHING) if mask is None else np.flatnonzero(mask)
        for k in (1, 5, EVERYTHING):
            for row in range(rows):
                found = index.search(queries[[row]], k, filter=mask)
                if not found.stats.exact:
                    continue
                best = allowed[np.lexsort((allowed, -scores[row, allowed]))]
                items = found.row(0)[0].tolist()
                if items == best[:k].tolist():
                    continue
                # Lists hold no item that shares nothing with the query.
                assert items == [item for item in best[:k].tolist() if scores[row, item] > 0]


class Spy:
    """A model that remembers every pair it was asked for."""

    def __init__(self):
        self.pairs = Counter()

    def __call__(self, query, texts):
        for text in texts:
            self.pairs[query, text] += 1
        return [float(len(set(query) & set(text))) - len(text) / 100 for text in texts]

    def scorer(self, items=ITEMS):
        return FunctionScorer(self, items, name="spy 1", model_calls=True)

    @property
    def calls(self):
        return sum(self.pairs.values())


DISTINCT = {item: f"{text} {item}" for item, text in ITEMS.items()}
"""Texts that tell the items apart."""


@cache
def words():
    return bm25(DISTINCT)


@cache
def others():
    return tfidf(DISTINCT)


def _two_reranks(spy):
    scorer = spy.scorer(DISTINCT)
    return words().rerank(scorer, depth=8) | others().rerank(scorer, depth=8)


def _sharded(spy):
    pairs = list(DISTINCT.items())
    parts = [dict(pairs[:20]), dict(pairs[20:])]
    return shards([bm25(part).rerank(spy.scorer(part), depth=9) for part in parts])


SPENDING = {
    "rerank": lambda spy: words().rerank(spy.scorer(DISTINCT), depth=15),
    "rerank of a cut": lambda spy: (words() % 6) >> spy.scorer(DISTINCT),
    "union >>": lambda spy: (words() | others()) >> spy.scorer(DISTINCT),
    "sum >>": lambda spy: (words().normalized() + others().normalized()) >> spy.scorer(DISTINCT),
    "cut of a rerank": lambda spy: words().rerank(spy.scorer(DISTINCT), depth=15) % 4,
    "scaled": lambda spy: words().rerank(spy.scorer(DISTINCT), depth=15).scaled("exp", slope=0.1),
    "by rank": lambda spy: words().rerank(spy.scorer(DISTINCT), depth=15).normalized("rank"),
    "union of reranks": _two_reranks,
    "rerank twice": lambda spy: words().rerank(spy.scorer(DISTINCT), depth=12).rerank(others(), depth=5),
    "shards": _sharded,
    "budget": lambda spy: words().rerank(Budget(spy.scorer(DISTINCT), calls=10**6), depth=15),
    "retrying": lambda spy: words().rerank(Retrying(spy.scorer(DISTINCT)), depth=15),
    "budgeted rerank": lambda spy: rerank(words(), spy.scorer(DISTINCT), budget=12),
    "adacur": lambda spy: adacur(spy.scorer(DISTINCT), anchors(), first=words(), budget=12, rounds=3),
    "anncur": lambda spy: anncur(spy.scorer(DISTINCT), anchors(), budget=20),
    "residual cur": lambda spy: residual_cur(
        spy.scorer(DISTINCT), anchors(), [words(), others()], budget=12, rank=3, ridge=0.1
    ),
    "xrlinear >>": lambda spy: made("xrlinear").rerank(spy.scorer(DISTINCT), depth=15),
    **{
        f"{name} >>": lambda spy, name=name: made(name).rerank(spy.scorer(DISTINCT), depth=9)
        for name in ("dense hnsw", "dense ivf", "pefa-xl", "normalized", "fusion", "cold items", "dense guarded")
    },
}
"""Every way to let a scorer score, each with a scorer that remembers what it was asked."""

BY_SCALE = {
    "minmax": lambda spy: words().rerank(spy.scorer(DISTINCT), depth=15).normalized(depth=10),
    "sum of scales": lambda spy: (
        words().rerank(spy.scorer(DISTINCT), depth=15).normalized("zscore", depth=10) + words().normalized("zscore")
    ),
    "sum under a budget": lambda spy: (
        adacur(spy.scorer(DISTINCT), anchors(), budget=12, rounds=3).normalized() + words().normalized()
    ),
}
"""A scale is the query's own, whatever may be found: a filter changes no score, and what the scale is of is scored."""


def spying(name):
    spy = Spy()
    retriever = (SPENDING | BY_SCALE)[name](spy)
    spy.pairs.clear()
    return retriever, spy


@pytest.mark.parametrize("name", SPENDING)
@pytest.mark.parametrize("mask", [HALF, NONE_BUT_TWO], ids=["half", "two items"])
def test_a_forbidden_pair_is_never_sent_to_a_scorer(name, mask):
    retriever, spy = spying(name)
    ids = [item for item, allowed in zip(retriever.items, mask, strict=True) if allowed]
    found = retriever(QUERIES, 5, where=ids)
    assert {item for row in found.ids for item in row} <= set(ids)
    if found.scores is not None:
        retriever.score(QUERIES, found, where=ids)
        for hit in found[0]:
            retriever.explain(QUERIES[0], hit.id, where=ids)
    asked = {text for _, text in spy.pairs}
    assert asked <= {DISTINCT[item] for item in ids}
    assert asked or not found.ids[0]


@pytest.mark.parametrize("name", SPENDING | BY_SCALE)
@pytest.mark.parametrize("masked", ["no filter", "half"])
def test_calls_reported_are_calls_made(name, masked):
    retriever, spy = spying(name)
    mask = MASKS[masked]
    for k in (3, 40):
        spy.pairs.clear()
        found = retriever(QUERIES, k, where=mask)
        assert found.stats.model_calls == spy.calls > 0
        if found.scores is None:
            continue
        spy.pairs.clear()
        assert retriever.score(QUERIES, found, where=mask).stats.model_calls == spy.calls
        spy.pairs.clear()
        assert retriever.exact(QUERIES[:2], k, where=mask).stats.model_calls == spy.calls
    assert max(spy.pairs.values(), default=1) == 1  # no pair is paid for twice in a call


@pytest.mark.parametrize("name", SPENDING | BY_SCALE)
def test_an_explanation_after_a_search_makes_no_calls_and_one_alone_tells_how_many(name):
    retriever, spy = spying(name)
    if retriever.scale == "none":
        return
    queries = Queries([QUERIES[1]])
    found = retriever(queries, 3)
    made_by_search = spy.calls
    for hit in found[0]:
        why = retriever.explain(queries, hit.id)
        assert why.score == pytest.approx(hit.score, rel=1e-4, abs=1e-5)
        assert spy.calls == made_by_search
    spy.pairs.clear()
    why = retriever.explain(QUERIES[1], found[0][0].id)
    told = re.search(r"(\d[\d,]*) calls\b", str(why))
    assert max(spy.pairs.values(), default=1) == 1
    if told is not None:
        assert int(told[1].replace(",", "")) == spy.calls
    elif name in SPENDING and name not in ("by rank", "budgeted rerank", "rerank twice"):
        assert spy.calls == 1  # its scores need no search


TYPED = ("fig  pear", '"fig" pear', "+fig pear", "fig -pear", "fig pe*")
"""What people type: spaces that change the words, a phrase, a word that must or must not be there, a prefix."""


def _kept(texts):
    return Dataset.of([Item(id, text) for id, text in texts.items()], keep_texts=True)


@cache
def kept_words():
    with warnings.catch_warnings(action="ignore"):  # one item has no text
        return bm25(_kept(DISTINCT))


def _with_texts(budgeted):
    """Return a sum whose catalog, that of its first part, keeps texts."""
    return kept_words().normalized() + budgeted.normalized()


WEB_SPENDING = {
    "rerank": lambda spy: kept_words().rerank(spy.scorer(DISTINCT), depth=15),
    "rerank of a sum": lambda spy: (kept_words().normalized() + others().normalized()) >> spy.scorer(DISTINCT),
    "budget": lambda spy: kept_words().rerank(Budget(spy.scorer(DISTINCT), calls=10**6), depth=15),
    "budgeted rerank": lambda spy: rerank(kept_words(), spy.scorer(DISTINCT), budget=12),
    "adjusted": lambda spy: adjust(rerank(kept_words(), spy.scorer(DISTINCT), budget=12), {"synonyms": ["fig, leaf"]}),
    "sum of a rerank": lambda spy: _with_texts(words().rerank(spy.scorer(DISTINCT), depth=9)),
    "adacur": lambda spy: _with_texts(adacur(spy.scorer(DISTINCT), anchors(), first=words(), budget=12, rounds=3)),
    "anncur": lambda spy: _with_texts(anncur(spy.scorer(DISTINCT), anchors(), budget=20)),
    "residual cur": lambda spy: _with_texts(
        residual_cur(spy.scorer(DISTINCT), anchors(), [words(), others()], budget=12, rank=3, ridge=0.1)
    ),
}


@pytest.mark.parametrize("name", WEB_SPENDING)
def test_web_syntax_an_explanation_after_a_search_or_page_makes_no_calls(name):
    spy = Spy()
    retriever = WEB_SPENDING[name](spy)
    paid = 0
    for text in TYPED:
        for ask in (retriever.__call__, retriever.page):
            spy.pairs.clear()
            queries = Queries([text])
            found = ask(queries, 3, syntax="web")
            made_by_search = spy.calls
            paid += made_by_search
            hits = found.hits if isinstance(found, Page) else found[0]
            for hit in hits:
                why = retriever.explain(queries, hit.id, syntax="web")
                assert why.score == pytest.approx(hit.score, rel=1e-4, abs=1e-5)
                assert spy.calls == made_by_search
    assert paid


@pytest.mark.parametrize("name", WEB_SPENDING)
def test_web_syntax_a_mixed_batch_asked_again_makes_no_calls(name):
    spy = Spy()
    retriever = WEB_SPENDING[name](spy)
    queries = Queries([*QUERIES[:2], *TYPED, QUERIES[2]])
    first = retriever(queries, 5, syntax="web")
    paid = spy.calls
    assert retriever(queries, 5, syntax="web") == first
    assert spy.calls == paid > 0
    alone = [retriever(text, 5, syntax="web").ids[0] for text in queries.texts]
    assert first.ids == alone


def test_a_cache_reports_only_what_it_did_not_remember(tmp_path):
    spy = Spy()
    cached = words().rerank(ScoreCache(spy.scorer(DISTINCT), tmp_path / "scores.db"), depth=15)
    first = cached(QUERIES, 5)
    assert first.stats.model_calls == spy.calls > 0
    again = cached(QUERIES, 5)
    assert again == first and again.stats.model_calls == 0 and spy.calls == first.stats.model_calls
    assert cached(QUERIES, 30).stats.model_calls == spy.calls - first.stats.model_calls


CUTS = {"cut": lambda part: part % 5, "cut of a cut": lambda part: part % 9 % 5, "wider cut": lambda part: part % 5 % 9}


@pytest.mark.parametrize("masked", MASKS)
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", ["bm25 lucene", "dense flat", "dense ivf", "xrlinear", "sum of short lists"])
def test_up_to_a_cut_an_answer_is_as_certain_as_the_parts_own_and_beyond_it_never(name, cut, masked):
    part, mask = made(name), MASKS[masked]
    search = CUTS[cut](part)
    for query in QUERIES[:4]:
        for k in (1, 5, 6, EVERYTHING):
            found = search(query, k, where=mask)
            own = part(query, min(k, 5), where=mask)
            assert found == own
            assert found.stats.exact == (k <= 5 and own.stats.exact)


@pytest.mark.parametrize("masked", MASKS)
@pytest.mark.parametrize("how", ["minmax", "zscore", "rank"])
def test_a_scale_leaves_what_is_certain_and_a_place_only_to_its_depth(how, masked):
    """A rerank is never certain: what lies deeper than its first stage looks may score more."""
    part, mask = made("bm25 lucene"), MASKS[masked]
    search, asked = part.normalized(how, depth=5), Queries([QUERIES[1]])
    for k in (1, 5, 6, EVERYTHING):
        assert part(QUERIES[1], k, where=mask).stats.exact
        for queries in (QUERIES[1], asked, asked):  # the second time the scale is known
            assert search(queries, k, where=mask).stats.exact == (how != "rank" or k <= 5)
        assert not part.rerank(made("bm25 atire"), depth=EVERYTHING)(QUERIES[1], k, where=mask).stats.exact
