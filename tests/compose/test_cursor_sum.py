"""Sums over native indexes in one native call: the same as in many, to the last bit, and fewer are scored."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from vizsla import _native
from vizsla.base.encoder import FunctionEncoder
from vizsla.base.queries import Queries
from vizsla.compose import Sum
from vizsla.compose.weighted_sum import weighted_topk
from vizsla.core.candidates import Candidates
from vizsla.core.sparse import SparseRows
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.indexes.inverted import InvertedIndex
from vizsla.indexes.tree import TreeIndex
from vizsla.methods.bm25 import bm25
from vizsla.methods.xrlinear.build import xrlinear

WORDS = np.array([f"w{number}" for number in range(60)], dtype=object)


def texts_of(count, words, seed):
    pick = np.random.default_rng(seed)
    return [" ".join(WORDS[(pick.random(words) ** 2 * len(WORDS)).astype(int)]) for _ in range(count)]


@pytest.fixture(scope="module")
def catalog():
    return {f"i{number}": text for number, text in enumerate(texts_of(400, 5, seed=0))}


@pytest.fixture(scope="module")
def words(catalog):
    return bm25(catalog)


@pytest.fixture(scope="module")
def log(catalog):
    queries = texts_of(600, 3, seed=1)
    pick = np.random.default_rng(2)
    clicks = {str(number): {f"i{item}": 1.0 for item in pick.integers(0, 400, 2)} for number in range(len(queries))}
    return Dataset.of(catalog, queries={str(number): query for number, query in enumerate(queries)}, clicks=clicks)


@pytest.fixture(scope="module")
def tree(log):
    # Three layers: a beam leaves nodes behind on two of them.
    return xrlinear(log, branching=6, max_leaf=12, beam=3)


QUERIES = [*texts_of(40, 3, seed=3), "", "unheard of", "w0"]


def slowly(total, queries, k, threads=1):
    return weighted_topk(total._terms, Queries(list(queries)), k, total.depth, None, threads)


@pytest.mark.parametrize("how", ["minmax", "zscore", "rank"])
@pytest.mark.parametrize(("depth", "own"), [(100, 100), (7, 30), (30, 100), (127, 127), (128, 128)])
@pytest.mark.parametrize("k", [1, 10, 16, 17, 60])
def test_one_call_answers_as_many_do(words, tree, how, depth, own, k):
    total = (0.5 * words.normalized(how, depth=own)).plus(0.7 * tree.normalized(how, depth=100), depth=depth)
    assert total._live is not None
    found, truth = total(QUERIES, k), slowly(total, QUERIES, k)
    assert found == truth
    assert found.stats.exact == truth.stats.exact
    assert total(QUERIES, k, threads=2) == found
    for row, query in enumerate(QUERIES):
        assert total(query, k) == found[row : row + 1]
    assert total.score(QUERIES, found) == found


@pytest.fixture(scope="module")
def other_tree(log):
    return xrlinear(log, branching=4, max_leaf=20, beam=2, transform="l2-hinge", seed=5)


@pytest.mark.parametrize("how", ["minmax", "zscore"])
@pytest.mark.parametrize(("taken", "own"), [(20, 20), (10, 60), (60, 60)])
@pytest.mark.parametrize("k", [1, 10, 33])
def test_two_trees_tell_of_what_came_before_their_lists_and_after(words, tree, other_tree, how, taken, own, k):
    weights = {0.4: tree, 0.5: words, 0.3: other_tree}
    total = Sum([(weight, part.normalized(how, depth=own)) for weight, part in weights.items()], depth=taken)
    assert total._live is not None
    for _ in range(2):  # the second time leaves are kept by item
        found, truth = total(QUERIES, k), slowly(total, QUERIES, k)
        assert found == truth
        assert found.stats.exact == truth.stats.exact
        assert total.score(QUERIES, found) == found
        for one in (tree, other_tree):
            one.index.scores(one.encode(QUERIES * 40), words(QUERIES * 40, 3))


@pytest.mark.parametrize("how", [None, "minmax", "zscore"])
@pytest.mark.parametrize("k", [3, 150])
def test_catalogs_in_another_order(catalog, words, how, k):
    shuffled = np.random.default_rng(5).permutation(list(catalog)).tolist()
    other = bm25({item: catalog[item] for item in shuffled}, b=0.2)
    sides = [words, other] if how is None else [words.normalized(how, depth=130), other.normalized(how, depth=130)]
    total = (0.5 * sides[0]).plus(0.5 * sides[1], depth=25)
    assert total._live is not None
    found = total(QUERIES, k)
    assert found == slowly(total, QUERIES, k)
    assert found == total.score(QUERIES, found)


def test_equals_at_a_cut_go_by_the_numbers_of_the_sum():
    """Six are equal in the second part, which counts its items backwards; two of them are candidates."""
    first = {f"n{n}": "fig fig fig" if n > 5 else "fig fig leaf" if n == 5 else "leaf fig leaf leaf" for n in range(9)}
    second = {f"n{n}": "plum" if n > 5 else "fig" for n in reversed(range(9))}
    total = (0.1 * bm25(first).normalized(depth=9)).plus(bm25(second).normalized(depth=9), depth=2)
    assert total._live is not None
    assert total("fig", 2).ids == [["n0", "n1"]]
    assert total("fig", 2) == slowly(total, ["fig"], 2)


def test_long_lists_of_an_approximate_part_are_asked_for_their_scale(words, tree):
    total = words.normalized(depth=10) + tree.normalized(depth=10)
    assert not total._live.serves(11)
    found = total(QUERIES, 50)
    assert found == total.score(QUERIES, found)


def test_a_filter_goes_the_long_way(words, tree):
    total = words.normalized() + tree.normalized()
    where = {f"i{number}" for number in range(0, 400, 3)}
    found = total(QUERIES, 10, where=where)
    assert {item for row in found.ids for item in row} <= where
    assert found == total.score(QUERIES, found, where=where)


def test_fewer_are_scored_than_were_not_found(words, tree):
    total = words.normalized() + tree.normalized()
    assert total(QUERIES, 10).stats.scored < slowly(total, QUERIES, 10).stats.scored


@pytest.mark.parametrize("transform", ["l3-hinge", "sigmoid"])
@pytest.mark.parametrize("weights", ["float32", "int16", "int8"])
def test_who_shares_little_with_a_query_is_ruled_out_unscored(catalog, words, log, transform, weights):
    """Once a tree keeps its leaves by item, their features say what a score is at most; the answer stays the same."""
    tree = xrlinear(log, branching=6, max_leaf=12, beam=3, transform=transform, weights=weights)
    total = words.normalized("zscore") + tree.normalized("zscore")
    before = total(QUERIES, 5)
    _keep_leaves_by_item(tree)
    found = total(QUERIES, 5)
    assert found == before == slowly(total, QUERIES, 5)
    assert found.stats.scored < before.stats.scored
    assert total.score(QUERIES, found) == found


def _keep_leaves_by_item(tree):
    few = Candidates.from_rows([np.array([number, 399 - number]) for number in range(len(QUERIES))])
    size = tree.index.nbytes
    for _ in range(500):
        tree.index.scores(tree.encode(QUERIES), few)
    assert tree.index.nbytes > size


def test_the_cost_is_that_of_the_parts_and_of_what_is_scored(words, tree):
    parts = words(QUERIES, 100).stats + tree(QUERIES, 100).stats
    by_rank = (words.normalized("rank") + tree.normalized("rank"))(QUERIES, 10).stats
    assert (by_rank.postings, by_rank.bytes, by_rank.scored) == (parts.postings, parts.bytes, 0)
    more = (words.normalized() + tree.normalized())(QUERIES, 10).stats
    assert more.scored > 0
    assert more.postings > parts.postings
    assert more.bytes > parts.bytes


def test_windows_and_items_without_a_shared_word():
    """More items than one window of postings holds: only what a search comes by is taken from it."""
    pick = np.random.default_rng(7)
    items = {f"i{n}": " ".join(WORDS[pick.integers(0, 60, 4)]) for n in range(20_000)}
    left, right = bm25(items), bm25(items, k1=0.4, b=0.1)
    total = left + right
    found = total(QUERIES, 10)
    assert found == slowly(total, QUERIES, 10)


def test_lists_that_a_window_leaves_out_count_in_what_is_expected_of_an_item():
    """A rare word decides who is found; what frequent words add is left out of most windows, and still counts."""
    pick = np.random.default_rng(8)
    often, seldom = [f"c{n}" for n in range(4)], [f"r{n}" for n in range(40)]
    items = {
        f"i{n}": " ".join([*pick.choice(often, pick.integers(1, 9)), *pick.choice(seldom, pick.integers(0, 3))])
        for n in range(12_000)
    }
    total = (0.5 * bm25(items, k1=3.0, b=1.0)).plus(0.5 * bm25(items, k1=0.1, b=0.0), depth=100)
    queries = [f"{rare} {one} {other}" for rare in seldom[:10] for one, other in pairwise(often)]
    found, truth = total(queries, 3), slowly(total, queries, 3)
    assert found == truth
    assert found.stats.scored < truth.stats.scored


class Doubled(InvertedIndex):
    """Searches in its own way, which native code cannot know."""

    kind = "doubled-postings"

    def scores(self, queries, candidates, *, threads=1):
        scored = super().scores(queries, candidates, threads=threads)
        return scored._replace(scores=2 * scored.scores)


def test_whoever_redefines_an_answer_is_asked_himself(words):
    index = words.index
    own = Doubled(len(index), index._offsets, index._items, index._impacts)
    assert index.has_native_cursor
    assert not own.has_native_cursor
    assert (words._with(index=own) + words)._live is None


def test_dense_parts_go_the_long_way(catalog, words):
    from vizsla.methods.dense import dense as dense_retriever

    encoder = FunctionEncoder(lambda texts: [[len(text), 1.0] for text in texts], dim=2, name="length")
    dense = dense_retriever(catalog, encoder)
    assert not dense.is_plain
    assert (words.normalized() + dense.normalized())._live is None
    with pytest.raises(InputError, match="native part of sums"):
        dense.index.native_cursor(np.ones((1, 2), np.float32))


def test_native_code_checks_what_it_is_given(words):
    rows = words.encode(["w1 w2"])
    source = words.index.native_cursor(rows)
    two = words.index.native_cursor(words.encode(["a", "b"]))
    with pytest.raises(ValueError, match="as many rows"):
        _native.CursorSum([(1.0, "none", 0, None)] * 2).search([source, two], 5, 5, 1)
    with pytest.raises(ValueError, match="source for each part"):
        _native.CursorSum([(1.0, "none", 0, None)]).search([source, source], 5, 5, 1)
    with pytest.raises(ValueError, match="finite"):
        _native.CursorSum([(float("nan"), "none", 0, None)])
    with pytest.raises(ValueError, match="minmax, zscore or rank"):
        _native.CursorSum([(1.0, "best", 5, None)])
    short = np.zeros(3, np.int32)
    with pytest.raises(ValueError, match="a number for each item"):
        _native.CursorSum([(1.0, "none", 0, (short, short))]).search([source], 5, 5, 1)
    wild = np.full(len(words.items), 10**6, np.int32)
    with pytest.raises(ValueError, match="in both catalogs"):
        _native.CursorSum([(1.0, "none", 0, (wild, wild))]).search([source], 5, 5, 1)


def test_unsound_queries_are_refused_in_words(words, tree):
    with pytest.raises(InputError, match="columns"):
        words.index.native_cursor(SparseRows(np.array([0, 0]), np.zeros(0, np.int32), np.zeros(0, np.float32), 3))
    assert isinstance(tree.index, TreeIndex)
    bad = SparseRows(np.array([0, 1]), np.array([0], np.int32), np.array([np.inf], np.float32), tree.index.dim)
    with pytest.raises(ValueError, match="finite"):
        tree.index.native_cursor(bad)


@pytest.mark.parametrize("how", ["minmax", "zscore"])
def test_what_lies_deeper_than_the_sum_looks_is_not_certified_away(how, catalog, words):
    """A scale may be read from a longer list than candidates are: its lower end says nothing about who was left out."""
    other = bm25(dict(zip(catalog, texts_of(400, 5, seed=7), strict=True)), b=0.0)
    asked, certified = texts_of(120, 6, seed=8), 0
    for weight in (0.5, 1.0, 2.0):
        total = words.normalized(how, depth=60).plus(other.normalized(how, depth=3).times(weight), depth=3)
        for query in asked:
            found = total(query, 2)
            certified += found.stats.exact
            assert not found.stats.exact or found == total.exact(query, 2)
    assert certified > 0
