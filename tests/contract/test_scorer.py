"""What every Scorer promises."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contract.catalog import ITEMS, QUERIES
from tests.contract.registry import SCORERS
from vizsla.base.scorer import Scorer
from vizsla.compose import Sum
from vizsla.compose.budgeted import BudgetedRetriever
from vizsla.compose.confidence import Confident
from vizsla.core.candidates import Candidates
from vizsla.core.strings import Strings
from vizsla.errors import InputError
from vizsla.scorers.cache import ScoreCache


@pytest.fixture(scope="module", params=SCORERS, ids=list(SCORERS))
def scorer(request):
    return SCORERS[request.param]()


def _candidates(seed: int = 3) -> Candidates:
    pick = np.random.default_rng(seed)
    rows = [np.sort(pick.choice(len(ITEMS), size=n, replace=False)).astype(np.int32) for n in range(len(QUERIES))]
    return Candidates.from_rows(rows, catalog=Strings.of(ITEMS))


def _remembers(scorer: Scorer | None) -> bool:
    return scorer is not None and (isinstance(scorer, ScoreCache) or _remembers(scorer.wrapped))


def _spender(scorer: Scorer) -> BudgetedRetriever | None:
    """Return the search under a budget that this is, or that is a part of it."""
    inner = [scorer, *(under for part in getattr(scorer, "parts", []) for under in (part, *getattr(part, "parts", [])))]
    return next((part for part in inner if isinstance(part, BudgetedRetriever)), None)


def test_scores_every_candidate_once_and_ranks(scorer):
    wanted = _candidates()
    scored = scorer.score(QUERIES, wanted)
    assert np.array_equal(scored.offsets, wanted.offsets)
    for query in range(len(QUERIES)):
        items, scores = scored.row(query)
        assert sorted(items) == sorted(wanted.row(query)[0])
        assert sorted(zip(-scores, items, strict=True)) == list(zip(-scores, items, strict=True))


def test_counts_the_pairs_it_scores(scorer):
    wanted = _candidates()
    if _remembers(scorer):
        scorer.score(QUERIES, wanted)
    stats = scorer.score(QUERIES, wanted).stats
    spender = _spender(scorer)
    if spender is not None:  # it buys on its own account, and estimates what it did not buy
        bought = spender(QUERIES, k=len(ITEMS)).ids
        assert stats.estimated == sum(len(set(row) - set(known)) for row, known in zip(wanted.ids, bought, strict=True))
        return
    assert stats.estimated == 0
    inner = scorer.parts[0] if isinstance(scorer, Confident) else scorer
    parts = inner.parts if isinstance(inner, Sum) else [inner]
    parts = [part for part in parts if not _remembers(part)]  # their pairs were paid for before
    parts = len([part for part in parts if getattr(part, "how", "") != "rank"])  # places need no score
    assert (stats.model_calls if scorer.model_calls else stats.scored) == parts * len(wanted.items)
    assert (stats.scored if scorer.model_calls else stats.model_calls) == 0


def test_score_does_not_depend_on_company_or_catalog_order(scorer):
    wanted = _candidates()
    together = scorer.score(QUERIES, wanted).to_dict()
    backwards = Strings.of(list(ITEMS)[::-1])
    for query, row in zip(wanted.query_ids, wanted.ids, strict=True):
        for item in row[:3]:
            alone = Candidates.from_dict({query: {item: 0.0}}, catalog=backwards)
            assert scorer.score([QUERIES[int(query)]], alone).to_dict()[query][item] == together[query][item]


def test_keeps_query_ids(scorer):
    wanted = _candidates().with_query_ids([f"query {n}" for n in range(len(QUERIES))])
    assert list(scorer.score(QUERIES, wanted).query_ids) == list(wanted.query_ids)


def test_unknown_item_and_wrong_number_of_queries_raise(scorer):
    with pytest.raises(InputError, match="nobody"):
        scorer.score(["fig"], Candidates.from_dict({"0": {"nobody": 0.0}}))
    with pytest.raises(InputError, match="as many as the candidates' rows"):
        scorer.score(["fig"], _candidates())
