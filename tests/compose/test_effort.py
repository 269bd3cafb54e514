"""One name for how hard a search tries, through compositions too."""

from __future__ import annotations

import pytest

from tests.methods.xrlinear.toy import toy
from vizsla.encoders.lsa import LsaEncoder
from vizsla.errors import InputError
from vizsla.methods.bm25 import bm25
from vizsla.methods.dense import dense
from vizsla.methods.pefa import pefa_xl
from vizsla.methods.xrlinear.build import xrlinear
from vizsla.text.analyzers import Analyzer

ITEMS = {f"i{n}": f"w{n % 7} w{n % 11} w{n % 13} w{n}" for n in range(600)}
VOTES = {"weight": 0.5, "neighbors": 3, "votes": "mean", "near": 0.0, "scale": 1.0, "threshold": 0.0, "index": "flat"}


@pytest.fixture(scope="module")
def parts():
    lsa = LsaEncoder.fit(ITEMS.values(), dim=16)
    graph = {"index": "hnsw", "M": 2, "ef_construction": 4}
    return bm25(ITEMS, analyzer=Analyzer()), dense(ITEMS, lsa, ef=9, **graph), dense(ITEMS, lsa, ef=5, **graph)


COMPOSITIONS = {
    "sum": lambda words, near: words.normalized() + near.normalized(),
    "rerank of a union": lambda words, near: (words | near) >> words,
    "cut": lambda words, near: near % 20,
    "pefa-xl": lambda words, near: pefa_xl(near, [(f"w{n}", f"i{n}") for n in range(20)], **VOTES),
    "pefa-xl in a sum": lambda words, near: (
        COMPOSITIONS["pefa-xl"](words, near).normalized("rank") + words.normalized("rank")
    ),
}


@pytest.mark.parametrize("make", COMPOSITIONS.values(), ids=COMPOSITIONS)
def test_the_effort_of_a_composition_is_that_of_its_part(parts, make):
    words, near, _ = parts
    search, asked = make(words, near), [f"w{n} w{n + 1}" for n in range(40)]
    assert search.effort == 9
    wide = search.with_effort(400)
    assert wide.effort == 400 and search.effort == 9 and type(wide) is type(search)
    assert wide(asked, 15) == make(words, near.with_effort(400))(asked, 15) != search(asked, 15)


def test_parts_that_differ_have_no_common_effort(parts):
    words, near, other = parts
    for search in (near | other, words % 3, words >> near):
        assert search.effort is None
        with pytest.raises(InputError, match=r"`effort` must be that of parts with one and the same. Got 7"):
            search.with_effort(7)
    both = (near | other.with_effort(9)).with_effort(7)
    assert [part.effort for part in both.parts] == [7, 7]


@pytest.mark.parametrize(
    "compose",
    [
        lambda tree, words: tree | words,
        lambda tree, words: words | tree,
        lambda tree, words: (words | tree) % 90,
        lambda tree, words: (tree % 60) | words,
    ],
)
def test_a_part_finds_k_where_a_filter_allows_all_that_it_knows(compose):
    """What the filter forbids is known to another part only: to the whole it is a filter still."""
    tree = xrlinear(toy(), branching=2, max_leaf=4, beam=1, cold_start=False, click_weights="none")
    search = compose(tree, bm25({"elsewhere": "garden thing of nick3"}))
    asked = ["nick3 railway", "garden thing6"]
    assert all(len(row) < 8 for row in tree(asked, 90).ids)
    found = search(asked, 90, where=list(tree.items))
    assert all(set(row) == set(tree.items) for row in found.ids) and found.stats.widened == len(asked)
    assert search(asked, 90).stats.widened == 0
