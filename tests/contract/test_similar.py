"""More like this, of every Retriever: an item is the query, by its row or by its text."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contract.catalog import ITEMS
from tests.contract.registry import RETRIEVERS, item_vectors
from tests.contract.test_pages import Described
from vizsla.base.index_retriever import RowSpaceRetriever
from vizsla.errors import InputError
from vizsla.methods.bm25 import bm25
from vizsla.methods.dense import dense
from vizsla.methods.pefa.xs import PefaXs

TWINS = ("twin 1", "twin 2")
ASKED = ["twin 1", "item/3 ü", "item/17 ü"]


@pytest.fixture(scope="module", params=RETRIEVERS, ids=list(RETRIEVERS))
def retriever(request):
    return RETRIEVERS[request.param].make()


def test_the_text_of_an_item_is_the_query_where_there_is_no_row(retriever):
    described = Described(retriever)
    for item in ASKED:
        found = described.similar(item, 5).ids[0]
        plain = retriever(ITEMS[item], 6).ids[0]
        assert found == [id for id in plain if id != item][:5]


def test_similar_items_are_found_without_itself_and_under_a_filter(retriever):
    if isinstance(retriever, RowSpaceRetriever | PefaXs):
        found = retriever.similar("twin 1", 5)
        assert "twin 1" not in found.ids[0] and len(found.ids[0]) == 5
        if isinstance(retriever, RowSpaceRetriever) and retriever.index.exact:
            assert found.ids[0][0] == "twin 2"  # the same text
    mask = np.arange(len(ITEMS)) % 2 == 0
    try:
        allowed = retriever.similar("item/3 ü", 5, where=mask)
    except InputError as error:
        assert "keep_texts" in str(error)
    else:
        assert mask[allowed.items].all() and len(allowed.items) <= 5


def test_an_unknown_item_is_named(retriever):
    with pytest.raises(InputError, match="no such item"):
        retriever.similar("no such item")


def test_vectors_are_compared_as_numpy_compares_them():
    vectors, numbers = item_vectors(), {id: number for number, id in enumerate(ITEMS)}
    search = RETRIEVERS["dense flat"].make()
    assert isinstance(search, type(dense(ITEMS, search.encoder)))
    rows = np.asarray(vectors.rows)
    for item in ASKED:
        scores = rows @ rows[numbers[item]]
        best = [number for number in np.lexsort((np.arange(len(rows)), -scores)) if number != numbers[item]][:5]
        found = search.similar(item, 5)
        np.testing.assert_allclose(found.scores, np.sort(scores[best])[::-1], rtol=1e-5)


def test_terms_of_an_item_are_those_of_its_text():
    """Without texts, an item's terms come from the lists: they find what its text finds, by other weights."""
    search = bm25(ITEMS)
    for item in ASKED:
        by_rows, by_text = search.similar(item, 60), search(ITEMS[item], 61)
        assert set(by_rows.ids[0]) == set(by_text.ids[0]) - {item}
