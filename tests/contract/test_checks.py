"""`vizsla.testing`: what every kind passes, and what breaks a promise is named."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contract.catalog import ITEMS, QUERIES
from tests.contract.registry import ENCODERS, INDEXES, RETRIEVERS, SCORERS
from vizsla import FunctionScorer, bm25
from vizsla.core.candidates import PairScores, Stats
from vizsla.encoders import FunctionEncoder
from vizsla.errors import ContractError, InputError
from vizsla.indexes import FlatIndex
from vizsla.methods import Bm25
from vizsla.testing import check_encoder, check_index, check_retriever, check_scorer

TEXTS = list(ITEMS.values())[:12]
UNASKED = {"sidr encoder"}  # its model of a few bytes cannot run


@pytest.mark.parametrize("name", RETRIEVERS)
def test_every_retriever_passes(name):
    case = RETRIEVERS[name]
    check_retriever(case.make(), QUERIES, exact=case.exact)


@pytest.mark.parametrize("name", [name for name in SCORERS if name not in RETRIEVERS])
def test_every_scorer_passes(name):
    check_scorer(SCORERS[name](), QUERIES[:3])


@pytest.mark.parametrize("name", sorted(ENCODERS.keys() - UNASKED))
def test_every_encoder_passes(name):
    check_encoder(ENCODERS[name](), TEXTS)


@pytest.mark.parametrize("name", INDEXES)
def test_every_index_passes(name):
    check_index(*INDEXES[name]())


class Careless(Bm25):
    """A BM25 with a promise that is broken; without a kind of its own, so it is not saved."""

    kind = "careless-bm25"
    broken = ""

    @classmethod
    def over(cls, broken):
        base = bm25(ITEMS)
        made = cls(base.items, base.statistics, base.index, base.weighting)
        made.broken = broken
        return made

    def _search(self, queries, k, filter, threads):
        if self.broken == "threads":
            k = max(1, k - threads + 1)
        if self.broken == "batch" and len(queries) > 1:
            k = 1
        return super()._search(queries, k, None if self.broken == "filter" else filter, threads)

    def _explain(self, queries, item, filter):
        why = super()._explain(queries, item, filter)
        return type(why)(why.score + 1, why.reason) if self.broken == "explain" else why

    def _score(self, queries, candidates, filter, threads):
        scored = super()._score(queries, candidates, filter, threads)
        return PairScores(scored.scores * 2, scored.stats) if self.broken == "score" else scored


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("threads", "threads do not change the answer"),
        ("batch", "a query alone answers as among others|head of a longer"),
        ("explain", "an explanation has the score"),
        ("score", "scoring gives the scores of the search"),
    ],
)
def test_a_broken_promise_of_a_retriever_is_named(broken, said):
    with pytest.raises(ContractError, match=said):
        check_retriever(Careless.over(broken), QUERIES)


def test_scores_that_depend_on_company_are_named():
    crowd = FunctionScorer(lambda query, texts: [float(len(texts))] * len(texts), ITEMS, name="crowd")
    with pytest.raises(ContractError, match="does not depend on others"):
        check_scorer(crowd, ["fig"])


def test_rows_that_depend_on_company_are_named():
    crowd = FunctionEncoder(lambda texts: [[float(len(texts))] for _ in texts], dim=1, name="crowd")
    with pytest.raises(ContractError, match="of a text alone as among others"):
        check_encoder(crowd, TEXTS)


class Forgetful(FlatIndex):
    """An index that scores otherwise than it searches."""

    kind = "forgetful-flat"

    def scores(self, queries, candidates, *, threads=1):
        return PairScores(np.zeros(len(candidates.items), np.float32), Stats())


def test_an_index_that_scores_otherwise_is_named():
    rows = np.eye(4, dtype=np.float32)
    with pytest.raises(ContractError, match="scoring gives the scores of the search"):
        check_index(Forgetful.build(rows), rows)


@pytest.mark.parametrize(
    ("check", "wrong"), [(check_retriever, 5), (check_scorer, "x"), (check_encoder, None), (check_index, [])]
)
def test_other_things_are_refused(check, wrong):
    with pytest.raises(InputError, match="must be an? "):
        check(wrong, QUERIES)


def test_queries_that_find_nothing_are_refused():
    with pytest.raises(ContractError, match="give other queries"):
        check_retriever(bm25(ITEMS), ["zzz"])
    with pytest.raises(InputError, match="`queries` must be a sequence of texts"):
        check_retriever(bm25(ITEMS), "fig")
