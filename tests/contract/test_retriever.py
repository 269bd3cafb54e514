"""What every Retriever promises, beside what `vizsla.testing.check_retriever` checks (see test_checks.py)."""

from __future__ import annotations

import gc
from weakref import ref

import numpy as np
import pytest

from tests.contract.catalog import ITEMS, QUERIES
from tests.contract.registry import RETRIEVERS
from vizsla.errors import InputError

EVERYTHING = len(ITEMS)


@pytest.fixture(scope="module", params=RETRIEVERS, ids=list(RETRIEVERS))
def case(request):
    return RETRIEVERS[request.param]


@pytest.fixture(scope="module")
def retriever(case):
    return case.make()


def test_rows_are_ranked_best_first_and_ties_by_item_number(case, retriever):
    found = retriever(QUERIES, k=EVERYTHING)
    assert len(found) == len(QUERIES)
    for query in range(len(found)):
        items, scores = found.row(query)
        assert len(set(items.tolist())) == len(items)
        if case.scored:
            assert scores.dtype == np.float32 and np.isfinite(scores).all()
            assert sorted(zip(-scores, items, strict=True)) == list(zip(-scores, items, strict=True))


def test_finds_something_for_a_known_word_and_nothing_for_no_words(case, retriever):
    found = retriever(["fig", "", "ЖЖЖ щщщ"], k=5)
    assert [len(row) > 0 for row in found[:2]] == [True, case.always]
    assert case.hashed or bool(len(found[2])) == case.always


def test_at_most_k(retriever):
    assert max(map(len, retriever(QUERIES, k=3))) == 3


def test_any_k_is_answered_or_refused_in_words(retriever):
    everything = retriever(QUERIES, k=EVERYTHING)
    for k in (EVERYTHING + 1, 6148914691236517206, 2**63 - 1):  # three times the second fits no 64 bits
        assert retriever(QUERIES, k=k) == everything
    for k in (2**63, 2**70, 10**5000):
        with pytest.raises(InputError, match=r"`k` must be a whole number below 2\^63"):
            retriever(QUERIES, k=k)


def test_catalog_ids_are_the_users(retriever):
    assert list(retriever.items) == list(ITEMS)
    assert set(retriever("fig", k=EVERYTHING).ids[0]) <= set(ITEMS)


def test_search_is_the_head_of_a_longer_search(case, retriever):
    longest = retriever(QUERIES, k=EVERYTHING if case.exact else case.head)
    for k in (1, 2, 5, min(20, case.head)):
        assert retriever(QUERIES, k=k) == longest.top(k)


def test_a_filter_that_allows_everything_is_none(retriever):
    for k in (3, 20):
        alone = retriever(QUERIES, k=k)
        for where in (np.ones(EVERYTHING, np.bool_), list(ITEMS), lambda item: True):
            found = retriever(QUERIES, k=k, where=where)
            assert found == alone and found.stats.with_ms(0) == alone.stats.with_ms(0)


def test_score_of_what_was_found_is_what_was_found(case, retriever):
    if not case.exact:
        return
    found = retriever(QUERIES, k=20)
    assert retriever.score(QUERIES, found) == found


def test_where_admits_only_the_allowed_and_as_many_as_match(case, retriever):
    mask = np.arange(EVERYTHING) % 3 == 0
    allowed = {item for item, ok in zip(ITEMS, mask, strict=True) if ok}
    masked = retriever(QUERIES, k=5, where=mask)
    assert (
        masked == retriever(QUERIES, k=5, where=allowed) == retriever(QUERIES, k=5, where=lambda item: item in allowed)
    )
    for query in range(len(QUERIES)):
        row = masked.ids[query]
        assert set(row) <= allowed
        if case.exact:
            assert row == [item for item in retriever(QUERIES[query], k=EVERYTHING).ids[0] if item in allowed][:5]


def test_a_filter_goes_with_its_last_user_and_needs_no_garbage_collector(case, retriever):
    gc.disable()
    try:
        filter = retriever.filter(list(ITEMS)[:6])
        found = [retriever(QUERIES, k=3, where=filter) for _ in range(2)]
        if case.scored:
            retriever.score(QUERIES, found[0], where=filter)
        gone = ref(filter)
        del filter, found
        assert gone() is None
    finally:
        gc.enable()


def test_explanation_agrees_with_the_score(case, retriever):
    for query in QUERIES:
        for hit in retriever(query, k=3)[0]:
            why = retriever.explain(query, hit.id)
            assert str(why)
            if case.scored:
                assert why.score == pytest.approx(hit.score, rel=1e-4, abs=1e-5)


def test_stats_tell_what_it_cost(retriever):
    assert retriever("fig", k=3).stats.ms > 0
    held = retriever._byte_counts().values()
    assert sum(held) == retriever.nbytes > 0 and min(held) >= 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "`k` must be a whole number above 0. Got 0."),
        ({"k": 2.5}, "`k` must be a whole number above 0. Got 2.5."),
        ({"threads": 0}, "`threads` must be"),
        ({"queries": [1]}, "`queries` must be a text"),
        ({"where": np.ones(3, bool)}, "`where` as an array must be"),
        ({"where": ["nobody"]}, "`where` must name known items. Got 'nobody'"),
        ({"where": "fig"}, "Got the text 'fig'"),
    ],
)
def test_wrong_arguments_get_a_clear_error(retriever, arguments, message):
    with pytest.raises(InputError, match=message):
        retriever(**{"queries": "fig", **arguments})


def test_unknown_item_cannot_be_explained(retriever):
    with pytest.raises(InputError, match="Got 'nobody'"):
        retriever.explain("fig", "nobody")
