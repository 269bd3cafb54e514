"""Anchors: chosen, priced, scored in shards that continue, changed item by item, stored small."""

from __future__ import annotations

import numpy as np
import pytest

from tests.methods.cur.scorers import ANCHORS, ITEMS, QUERIES, Books, full, scorer
from vizsla.artifacts.artifact import load
from vizsla.data.dataset import Dataset
from vizsla.encoders.lsa import LsaEncoder
from vizsla.errors import InputError
from vizsla.methods.bm25 import bm25
from vizsla.methods.cur import AnchorScores, adacur, anchor_cost, residual_cur, score_anchors
from vizsla.methods.cur.anchors import anchor_queries
from vizsla.methods.cur.factors import Factors
from vizsla.methods.cur.residual import reused_anchors
from vizsla.methods.tfidf import tfidf
from vizsla.scorers.cache import ScoreCache
from vizsla.scorers.text import FunctionScorer
from vizsla.scorers.wrappers import Budget


def test_all_pairs_are_scored_once_and_the_cost_was_told():
    books = Books()
    anchors = score_anchors(scorer(books), [*ANCHORS, ANCHORS[0]], storage="float32", shard=37)
    assert np.array_equal(anchors.scores(), full(ANCHORS)) and len(set(books.pairs)) == len(books.pairs) == 480
    assert anchor_cost(scorer(), ANCHORS, sample=10).calls == 480


def test_what_a_cache_knows_is_not_timed(tmp_path):
    books = Books()
    cache = ScoreCache(scorer(books), tmp_path / "scores.db")
    first, second = (anchor_cost(cache, ANCHORS, sample=20) for _ in range(2))
    assert first.sampled + 1 == 20 and second.sampled >= 10 and len(set(books.pairs)) == len(books.pairs)
    assert anchor_cost(scorer(), ANCHORS, sample=1).sampled == 1
    score_anchors(cache, ANCHORS)
    known = anchor_cost(cache, ANCHORS)
    assert known.calls == known.sampled == known.hours == 0 and "all scores are there already" in str(known)
    assert known.shard() == 4096


def test_what_is_left_is_what_the_cost_tells(tmp_path):
    books = Books()
    cache = ScoreCache(scorer(books), tmp_path / "scores.db")
    assert anchor_cost(cache, ANCHORS).calls == 480, "an empty cache knows nothing"
    cache.score(ANCHORS[:2], bm25(ITEMS)(ANCHORS[:2], k=20))
    paid = len(books.pairs)
    assert anchor_cost(Budget(cache, calls=1000), ANCHORS, sample=1).calls == 480 - paid
    with pytest.raises(RuntimeError):
        score_anchors(scorer(Books(fails_after=250)), ANCHORS, tmp_path / "anchors", shard=50)
    plain = Books()
    cost = anchor_cost(scorer(plain), ANCHORS, tmp_path / "anchors", sample=1000)
    assert cost.calls == len(set(plain.pairs)) == 230 and cost.sampled == 229
    assert set(plain.pairs) == {(query, text) for query in ANCHORS for text in ITEMS.values()} - _first(250)
    after = {(ANCHORS[row], list(ITEMS.values())[at]) for row, at in (divmod(n, 60) for n in range(250, 480))}
    known = anchor_cost(cache, ANCHORS, tmp_path / "anchors", sample=1).calls
    assert known == len(after - set(books.pairs[:-1])), "neither what the run nor what the cache has"
    with pytest.raises(InputError, match="must hold scores of this scorer, items and queries"):
        anchor_cost(scorer(), ANCHORS[:3], tmp_path / "anchors")


def _first(count: int) -> set[tuple[str, str]]:
    """Return the pairs that are scored first."""
    return set([(query, text) for query in ANCHORS for text in ITEMS.values()][:count])


def test_a_stopped_run_continues_where_it_was(tmp_path):
    broken, rest = Books(fails_after=250), Books()
    with pytest.raises(RuntimeError):
        score_anchors(scorer(broken), ANCHORS, tmp_path / "anchors", shard=50)
    assert not (tmp_path / "anchors").exists()
    with pytest.raises(InputError, match="must hold scores of this scorer, items and queries"):
        score_anchors(scorer(), ANCHORS[:3], tmp_path / "anchors", shard=50)
    made = score_anchors(scorer(rest), ANCHORS, tmp_path / "anchors", storage="float32", shard=50)
    assert len(rest.pairs) == 480 - 250
    assert np.array_equal(made.scores(), full(ANCHORS))
    assert not made.factors.values.flags.owndata and not made.factors.values.flags.writeable  # the file itself, mapped
    assert np.array_equal(load(tmp_path / "anchors").scores(), full(ANCHORS))
    assert not (tmp_path / "anchors.scoring").exists()


def _odd(odd: float, asked: list[str]) -> FunctionScorer:
    """Score the items' numbers but for one."""

    def numbers(query: str, texts: list[str]) -> list[float]:
        asked.extend(texts)
        return [odd if text.endswith(" 7") else 1.0 for text in texts]

    return FunctionScorer(numbers, ITEMS, name="odd 1")


def test_scores_that_cannot_be_anchors_are_found_before_the_next_are_paid_for(tmp_path):
    asked: list[str] = []
    with pytest.raises(InputError, match="must give finite scores. Got inf for 'a b' and 'item 7'"):
        score_anchors(_odd(np.inf, asked), ANCHORS, tmp_path / "anchors", shard=20)
    assert len(asked) == 20
    with pytest.raises(InputError, match="too large for float16"):
        score_anchors(_odd(1e6, asked), ANCHORS, tmp_path / "anchors", shard=20)
    assert len(asked) == 40
    made = score_anchors(_odd(1e6, asked), ANCHORS, tmp_path / "anchors", storage="float32", shard=20)
    assert len(asked) == 20 + 60 * len(ANCHORS) and made.scores().max() == 1e6
    with pytest.raises(InputError, match="`scores` must be finite"):
        AnchorScores.of(["item 1"], ANCHORS, np.ones((8, 1))).with_items(_odd(np.inf, asked), ["item 7"])
    estimating = adacur(scorer(), AnchorScores.of(ITEMS, ANCHORS, full(ANCHORS)), budget=5)
    with pytest.raises(InputError, match="`scorer` must score every item. Got Adacur.*, which estimates"):
        score_anchors(estimating, ANCHORS)
    with pytest.raises(InputError, match="`scorer` must know some items"):
        score_anchors(FunctionScorer(len, {}), ANCHORS)


@pytest.mark.parametrize(("storage", "error"), [("float32", 0), ("float16", 1e-3), ("int8", 1e-2)])
def test_items_come_and_go(storage, error):
    some = list(ITEMS)[:40]
    fewer = AnchorScores.of(some, ANCHORS, full(ANCHORS)[:, :40], storage=storage)
    books = Books()
    grown = fewer.with_items(scorer(books), list(ITEMS))
    assert len(books.pairs) == 20 * len(ANCHORS) and list(grown.items) == list(ITEMS)
    assert np.abs(grown.scores() - full(ANCHORS)).max() <= 2 * error
    back = grown.without_items(list(ITEMS)[40:])
    assert list(back.items) == some and np.abs(back.scores() - fewer.scores()).max() <= 2 * error


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
def test_products_do_not_depend_on_company(storage):
    pick = np.random.default_rng(0)
    factors = Factors.of(pick.normal(size=(20, 301)), storage)
    weights = pick.normal(size=(21, 20)).astype(np.float32)
    wide = factors.values.astype(np.float32) * factors.steps[:, None]
    together = factors.products(weights)
    assert np.allclose(together, weights @ wide, rtol=1e-4, atol=1e-4)
    for row in (0, 7, 20):
        assert np.array_equal(factors.products(weights[row : row + 1])[0], together[row])
    assert np.allclose(factors.columns(np.array([3, 300])), wide[:, [3, 300]].T)


def test_anchor_queries_come_from_clicks_clusters_or_items():
    queries = {f"q{n}": text for n, text in enumerate([*ANCHORS, *QUERIES])}
    clicks = [(query, f"item {n}", 1.0 + n) for n, query in enumerate(queries)]
    log = Dataset.of(ITEMS, queries=queries, clicks=clicks)
    assert anchor_queries(log, 3, how="clicks") == [*QUERIES[::-1][:3]]
    clusters = anchor_queries(log, 6, how="clusters", encoder=LsaEncoder.fit(ITEMS.values(), dim=8))
    assert len(set(clusters)) == 6 and set(clusters) <= set(queries.values())
    assert len(set(anchor_queries(log, 5))) == 5
    assert anchor_queries(Dataset.of(ITEMS), 4) == anchor_queries(log, 4, how="pseudo")
    with pytest.raises(InputError, match="`encoder` must be a dense encoder.* Got none"):
        anchor_queries(log, 3, how="clusters")
    with pytest.raises(InputError, match="Got NgramTfidf.*, whose rows are sparse"):
        anchor_queries(log, 3, how="clusters", encoder=tfidf(ITEMS).encoder)


def test_past_queries_become_anchors(tmp_path):
    cache = ScoreCache(scorer(), tmp_path / "scores.db")
    anchors = AnchorScores.of(ITEMS, ANCHORS, full(ANCHORS))
    search = residual_cur(cache, anchors, bm25(ITEMS), budget=20, rank=4, ridge=0.1)
    found = search(QUERIES, k=20)
    assert cache.known(QUERIES).to_dict() == found.to_dict()
    more = reused_anchors(search, anchors, QUERIES, cache.known(QUERIES))
    assert list(more.queries) == [*ANCHORS, *QUERIES]
    exact, rows = full(QUERIES), more.scores()[len(ANCHORS) :]
    for row in range(len(QUERIES)):
        bought = found.row(row)[0]
        assert np.array_equal(rows[row, bought], exact[row, bought])
        assert np.isfinite(rows[row]).all()
    assert reused_anchors(search, more, QUERIES, found).queries == more.queries
    twice = [*QUERIES, QUERIES[0]]
    again = reused_anchors(search, anchors, twice, cache.known(twice))
    assert again.queries == more.queries and np.array_equal(again.scores(), more.scores())
    assert reused_anchors(search, anchors, [], cache.known([])).queries == anchors.queries


def test_a_query_of_which_nothing_was_scored_becomes_no_anchor(tmp_path):
    cache = ScoreCache(scorer(), tmp_path / "scores.db")
    anchors = AnchorScores.of(ITEMS, ANCHORS, full(ANCHORS))
    search = residual_cur(cache, anchors, bm25(ITEMS), budget=20, rank=4, ridge=0.1)
    search(QUERIES[1:3])
    past = [*QUERIES[:3], "never asked"]
    some = reused_anchors(search, anchors, past, cache.known(past))
    assert list(some.queries) == [*ANCHORS, *QUERIES[1:3]]
    alone = reused_anchors(search, anchors, QUERIES[1:3], cache.known(QUERIES[1:3]))
    assert np.array_equal(some.scores(), alone.scores())


@pytest.mark.parametrize("storage", ["float32", "int8"])
def test_a_fingerprint_changes_with_every_item_query_and_score(storage):
    """Both sides count: the same scores under other names are other anchors."""

    def mark(items=("a", "b"), queries=("p", "q"), scores=((0.5, 1.0), (2.0, 4.0))):
        return AnchorScores.of(items, queries, scores, storage=storage).fingerprint

    others = [{"items": ("a", "c")}, {"items": ("b", "a")}, {"queries": ("p", "r")}, {"queries": ("q", "p")}]
    others += [{"scores": ((0.5, 1.0), (2.0, 3.0))}, {"scores": ((1.0, 2.0), (4.0, 8.0))}]
    assert mark() == mark() and len({mark(), *(mark(**other) for other in others)}) == len(others) + 1
