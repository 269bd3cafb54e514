"""What every Index promises."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contract.catalog import ITEMS
from tests.contract.registry import INDEXES
from vizsla.core.candidates import Candidates
from vizsla.errors import InputError
from vizsla.indexes.approximate import ApproximateIndex


@pytest.fixture(scope="module", params=INDEXES, ids=list(INDEXES))
def made(request):
    return INDEXES[request.param]()


def test_length_is_the_number_of_items(made):
    index, _ = made
    assert len(index) == len(ITEMS)
    assert index.nbytes > 0


def test_head_law_and_score_law(made):
    index, queries = made
    if not index.exact:
        return
    everything = index.search(queries, len(ITEMS))
    for k in (1, 3, 10):
        assert index.search(queries, k) == everything.top(k)
    assert index.score(queries, everything) == everything


def test_any_k_is_answered_or_refused_in_words(made):
    index, queries = made
    assert index.search(queries, 2**63 - 1) == index.search(queries, len(ITEMS))
    with pytest.raises(InputError, match=r"`k` must be a whole number below 2\^63. Got 1180591620717411303424"):
        index.search(queries, 2**70)


def test_threads_do_not_change_the_answer(made):
    index, queries = made
    assert index.search(queries, 5, threads=1) == index.search(queries, 5, threads=2)


def test_allowed_returns_k_whenever_k_match(made):
    index, queries = made
    allowed = np.arange(len(ITEMS)) % 4 == 1
    found, everything = index.search(queries, 4, filter=allowed), index.search(queries, len(ITEMS))
    if isinstance(index, ApproximateIndex):
        assert np.diff(found.offsets).tolist() == [4] * queries.shape[0]
        assert allowed[found.items].all()
        assert index.score(queries, found) == found
        return
    for query in range(queries.shape[0]):
        expected = [item for item in everything.row(query)[0] if allowed[item]]
        assert found.row(query)[0].tolist()[: len(expected)] == expected[:4]


def test_wrong_input_raises(made):
    index, queries = made
    with pytest.raises(InputError, match="`k` must be"):
        index.search(queries, 0)
    with pytest.raises(InputError, match=r"columns|dimensions"):
        index.search(queries[:, :3], 1)
    with pytest.raises(InputError, match="filter"):
        index.search(queries, 1, filter=np.ones(2, bool))
    with pytest.raises(InputError, match=r"row|queries"):
        index.score(queries, Candidates.from_rows([np.zeros(1, np.int32)]))
    with pytest.raises(InputError, match="item"):
        index.score(queries[:1], Candidates.from_rows([np.array([len(ITEMS)], np.int32)]))
