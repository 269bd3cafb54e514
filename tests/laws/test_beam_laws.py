"""What a narrow beam means to everything that is built on XR-Linear: heads, filters, sums, shards, sweeps."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.contract.catalog import CLICKED, CLICKS, ITEMS, QUERIES
from tests.contract.registry import RETRIEVERS
from vizsla.base.queries import Queries
from vizsla.compose.shards import shards
from vizsla.compose.weighted_sum import Sum, weighted_topk
from vizsla.data.dataset import Dataset
from vizsla.encoders.lsa import LsaEncoder
from vizsla.methods.bm25 import bm25
from vizsla.methods.pefa import pefa_xl
from vizsla.methods.xrlinear.build import xrlinear
from vizsla.scorers.text import FunctionScorer

COUNT = len(ITEMS)
BEAMS = (1, 2, 3, COUNT)


@cache
def log():
    return Dataset.of({item: text or "none" for item, text in ITEMS.items()}, queries=CLICKED, clicks=CLICKS)


@cache
def model():
    """Leaves of at most six items: a beam of one finds six at most."""
    return RETRIEVERS["xrlinear"].make()


@cache
def cold():
    """A model with items that came after training."""
    return model().with_items({f"late {n}": text + " late" for n, text in enumerate(list(ITEMS.values())[:20])})


@cache
def words():
    return bm25(ITEMS)


def _pefa(xr):
    how = {"weight": 0.4, "neighbors": 5, "votes": "mean", "near": 0.0, "threshold": 0.0}
    return pefa_xl(xr, log(), encoder=LsaEncoder.fit(ITEMS.values(), dim=24), **how)


def _scorer():
    return FunctionScorer(lambda query, texts: [-float(len(text)) for text in texts], ITEMS)


BUILT_ON = {
    "itself": lambda xr: xr,
    "cut": lambda xr: xr % 30,
    "rerank": lambda xr: xr.rerank(words(), depth=COUNT),
    "rerank by a function": lambda xr: xr.rerank(_scorer(), depth=COUNT),
    "union": lambda xr: xr | words(),
    "union and rerank": lambda xr: (xr | words()) >> words(),
    "minmax sum": lambda xr: 0.6 * xr.normalized(depth=COUNT) + 0.4 * words().normalized(depth=COUNT),
    "zscore sum": lambda xr: xr.normalized("zscore", depth=COUNT) + words().normalized("zscore", depth=COUNT),
    "rank sum": lambda xr: xr.normalized("rank") + words().normalized("rank"),
    "scaled": lambda xr: xr.scaled("exp", slope=0.1),
    "pefa": _pefa,
}


@pytest.mark.parametrize("beam", BEAMS)
@pytest.mark.parametrize("name", BUILT_ON)
def test_within_the_depth_a_search_is_the_head_of_a_longer_one(name, beam):
    built = BUILT_ON[name](model().with_effort(beam))
    longest = built(QUERIES, COUNT)
    for k in (1, 3, 10, 30):
        for threads in (1, 2):
            assert built(QUERIES, k, threads=threads).ids == [row[:k] for row in longest.ids]


@pytest.mark.parametrize("beam", BEAMS)
@pytest.mark.parametrize("name", BUILT_ON)
def test_a_filter_that_allows_everything_is_none(name, beam):
    built = BUILT_ON[name](model().with_effort(beam))
    for k in (3, COUNT):
        alone = built(QUERIES, k)
        for where in (np.ones(COUNT, np.bool_), list(ITEMS), lambda item: True):
            found = built(QUERIES, k, where=where)
            assert found == alone
            assert found.stats.with_ms(0) == alone.stats.with_ms(0)


@pytest.mark.parametrize("name", ["itself", "rerank", "scaled", "pefa"])
def test_under_a_filter_k_are_found_whenever_k_match(name):
    built = BUILT_ON[name](model().with_effort(1))
    for mask in (np.arange(COUNT) % 3 > 0, np.arange(COUNT) % 9 == 1, np.arange(COUNT) != 5):
        found = built(QUERIES, 12, where=mask)
        said = [len(row) for row, query in zip(found, QUERIES, strict=True) if len(built(query, 1).items)]
        assert said and set(said) == {min(12, int(mask.sum()))}
        assert found.stats.widened > 0


@pytest.mark.parametrize("how", ["minmax", "zscore", "rank"])
@pytest.mark.parametrize("beam", [1, 2])
def test_a_native_sum_of_a_short_list_is_the_general_one(how, beam):
    built = model().with_effort(beam).normalized(how, depth=40) + words().normalized(how, depth=40)
    queries = Queries(QUERIES)
    for k in (1, 5, 40):
        natively = built(QUERIES, k)
        assert built._live is not None
        generally = weighted_topk(built._terms, Queries(QUERIES), k, built.depth, None, 1)
        assert natively.ids == generally.ids and np.array_equal(natively.scores, generally.scores)
        assert natively.stats.exact == generally.stats.exact
    assert built.score(queries, built(queries, 9)) == built(queries, 9)


@pytest.mark.parametrize("beam", BEAMS)
def test_items_without_clicks_that_came_later_keep_the_law(beam):
    xr = cold().with_effort(beam)
    longest = xr(QUERIES, len(xr.items))
    for k in (1, 5, 20):
        assert xr(QUERIES, k) == longest.top(k)
    found = xr("fig late", 40, where=[item for item in xr.items if item.startswith("late")])
    assert len(found.items) == 20


def test_shards_find_k_where_one_shard_is_allowed_whole():
    """To the shard that loses nothing the filter is one still, or fewer than k would be found."""
    pairs = list(ITEMS.items())
    parts = []
    for half in (pairs[:30], pairs[30:]):
        ids = {item for item, _ in half}
        clicks = [click for click in CLICKS if click[1] in ids]
        texts = {item: text or "none" for item, text in half}
        data = Dataset.of(texts, queries=CLICKED, clicks=clicks)
        parts.append(xrlinear(data, branching=3, max_leaf=4, beam=1))
    whole = shards(parts)
    only = np.arange(COUNT) >= 30
    assert len(whole("fig pear", 25, where=only).items) == 25
    assert len(whole("fig pear", 25).items) < 25
    assert whole("fig pear", 25, where=np.ones(COUNT, np.bool_)) == whole("fig pear", 25)


def test_a_wider_beam_is_no_worse_for_want_of_items():
    """Effort 1 found more than effort 2 where it was widened to four for want of `k` items."""
    found = {beam: model().with_effort(beam)(QUERIES, COUNT) for beam in (1, 2, 4)}
    lengths = {beam: [len(row) for row in answer] for beam, answer in found.items()}
    assert all(a <= b <= c for a, b, c in zip(*lengths.values(), strict=True))
    assert sum(lengths[1]) < sum(lengths[4])


@pytest.mark.parametrize("allowed", [None, 3, 40])
def test_what_is_called_exact_is_the_answer_of_the_widest_beam(allowed):
    """Also where fewer items are found than are asked for: what a beam left behind might have been among them."""
    where = None if allowed is None else list(ITEMS)[:allowed]
    exact = 0
    for query in QUERIES:
        for beam in range(1, 12):
            for k in (1, 3, 6, 7, 20, COUNT):
                found = model().with_effort(beam)(query, k=k, where=where)
                if found.stats.exact:
                    exact += 1
                    assert found.ids == model().with_effort(COUNT)(query, k=k, where=where).ids, (query, beam, k)
    assert exact


def test_the_best_leaf_alone_is_not_all_that_was_asked_for():
    """Every item of one leaf is far above all others, but ten were asked for and others are left behind."""
    items = {f"{word}{n}": f"{word * 5} thing" for word in "abcdefgh" for n in range(3)}
    asked = [(f"{item[0] * 5} {word}", item) for item in items for word in ("one", "two", "three", "four")]
    found = xrlinear(Dataset.of(items, clicks=asked), branching=8, max_leaf=3, cold_start=False)
    one = found.with_effort(1)
    assert set(one("aaaaa", k=10).ids[0]) == {"a0", "a1", "a2"} and not one("aaaaa", k=10).stats.exact
    assert found.with_effort(8)("aaaaa", k=10).stats.exact


@pytest.mark.parametrize("beam", BEAMS)
@pytest.mark.parametrize("depth", [1, 7, 40])
def test_a_native_sum_of_one_part_is_the_part_at_its_own_effort(beam, depth):
    """The cursor follows as many nodes as the search does, however much is asked for."""
    xr = model().with_effort(beam)
    alone = Sum([(1.0, xr)], depth=depth)
    assert alone._live is not None
    for k in (1, 5, 40):
        found, truth = alone(QUERIES, k), xr(QUERIES, k)
        assert found.ids == truth.ids and np.array_equal(found.scores, truth.scores)
    reads = [Sum([(1.0, model().with_effort(each))], depth=depth)(QUERIES, 5).stats.postings for each in BEAMS]
    assert reads == sorted(reads) and reads[0] < reads[-1]
