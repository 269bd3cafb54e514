"""Asked for more than a scale's depth, an approximate part finds others; scores must not depend on that."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.table_retriever import TableRetriever
from vizsla.compose.shards import shards
from vizsla.core.candidates import Candidates
from vizsla.errors import InputError
from vizsla.methods.bm25 import bm25

ITEMS = [f"i{number}" for number in range(12)]
SCORES = {item: float(12 - number) for number, item in enumerate(ITEMS)}


class Widening(TableRetriever):
    """Misses the best items unless it is asked for many, as a beam or a graph does."""

    kind = "widening-table"

    def _search(self, queries, k, filter, threads):
        found = super()._search(queries, len(self.items), filter, threads)
        missed = max(0, 4 - k // 2)
        rows = [found.row(row) for row in range(len(found))]
        kept = [(items[missed:][:k], scores[missed:][:k]) for items, scores in rows]
        return Candidates(
            np.cumsum([0, *(len(items) for items, _ in kept)]),
            np.concatenate([items for items, _ in kept]),
            np.concatenate([scores for _, scores in kept]),
            catalog=self.items,
        )


@pytest.mark.parametrize("where", [None, ITEMS[1:]])
@pytest.mark.parametrize("how", ["minmax", "zscore", "rank"])
@pytest.mark.parametrize("k", [2, 3, 8, 12])
def test_law_2_holds_beyond_the_depth_of_a_scale(how, k, where):
    part = Widening({"q": SCORES, "p": {"i3": 2.0, "i5": 1.0}}, ITEMS).normalized(how, depth=3)
    other = TableRetriever({"q": {"i5": 2.0, "i11": 1.0}}, ITEMS, exact=True).normalized(how, depth=3)
    for search in (part, part + other, part.plus(other, depth=2)):
        for queries in (["q"], ["q", "nothing", "p"]):
            found = search(queries, k, where=where)
            assert search.score(queries, found, where=where) == found
            for row, query in enumerate(queries):
                for hit in found[row]:
                    shown = search.explain(query, hit.id, where=where).score
                    assert shown == pytest.approx(hit.score, abs=1e-5)


def test_beyond_places_and_cuts_nothing_is_certain():
    table = TableRetriever({"q": SCORES}, ITEMS[::-1], exact=True)
    for search in (table.normalized("rank", depth=2), table % 2):
        assert search("q", 2).stats.exact
        assert search("q", 2) == search.exact("q", 2)
        assert not search("q", 5).stats.exact


def test_item_numbers_without_a_catalog_are_checked():
    words = bm25({"a": "a fig", "b": "a pear"})
    stray = Candidates(np.array([0, 1]), np.array([999], np.int32), None)
    for search in (words, words.normalized("rank"), shards([words]), words >> words, words + words):
        with pytest.raises(InputError, match="below 2"):
            search.score("fig", stray)


def test_rows_count_from_the_end():
    found = bm25({"a": "a fig", "b": "a pear"})(["fig", "pear"])
    assert found.row(-1)[0].tolist() == [1]
    with pytest.raises(IndexError):
        found.row(2)
