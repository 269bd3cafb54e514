"""Items that come and go, over every kind that takes them, and those whose answers are those of a fresh build."""

from __future__ import annotations

import warnings
from functools import cache

import pytest

import vizsla
from tests.contract.catalog import CLICKED, CLICKS, ITEMS, QUERIES
from tests.contract.registry import RETRIEVERS
from vizsla.data.dataset import Dataset
from vizsla.encoders.lsa import LsaEncoder
from vizsla.errors import InputError
from vizsla.methods.bm25 import VARIANTS, bm25
from vizsla.methods.dense import dense
from vizsla.methods.pefa import pefa_max, pefa_xs
from vizsla.methods.pefa.blending import grown_log
from vizsla.methods.pefa.xs import PefaXs
from vizsla.methods.tfidf import tfidf
from vizsla.text.analyzers import Analyzer, AnyLanguage

NEW = {"quite new": "a fig tree and a quince", "newer": "stones in the river", "newest": ""}


@cache
def taking(name):
    """Return the retriever of this name, or None if it does not declare that it takes items."""
    retriever = RETRIEVERS[name].make()
    return retriever if retriever.takes_items else None


@pytest.mark.parametrize("name", RETRIEVERS)
def test_what_declares_it_takes_items_and_lets_them_go(name):
    retriever = taking(name)
    if retriever is None:
        retriever = RETRIEVERS[name].make()
        with pytest.raises(InputError):
            retriever.with_items(NEW)
        return
    grown = retriever.with_items(NEW)
    assert list(grown.items) == [*retriever.items, *NEW]
    back = grown.without_items(NEW)
    assert back(QUERIES, 8) == retriever(QUERIES, 8)
    assert list(back.items) == list(retriever.items)
    with pytest.raises(InputError, match="known id. Got 'nobody'"):
        retriever.without_items(["nobody", "nothing"])
    assert grown.without_items(["nobody", *NEW], unknown="ignore")(QUERIES, 8) == retriever(QUERIES, 8)
    assert retriever.without_items(["nobody"], unknown="ignore") is retriever


@cache
def encoder():
    return LsaEncoder.fit(ITEMS.values(), dim=16)


def clicked(items):
    """Return the clicks on these items, each with the text of its query."""
    texts = {query.id: query.text for query in Dataset.of(ITEMS, queries=CLICKED).queries}
    return [(texts[query], item, *weight) for query, item, *weight in CLICKS if item in items]


def words(**how):
    analyzer = bm25(ITEMS).statistics.analyzer
    return lambda items: bm25(items, **{"analyzer": analyzer, **how})


TWO = AnyLanguage(["english", "german"])
FRESH = {
    **{f"bm25 {variant}": words(variant=variant) for variant in VARIANTS},
    "bm25 of length": words(k1=3.7, b=0.3),
    "bm25 without length": words(b=0),
    "bm25 plain": words(analyzer=Analyzer()),
    "bm25 languages": words(analyzer=TWO),
    "bm25+ languages": words(analyzer=TWO, variant="bm25+"),
    "pefa-xs bm25": lambda items: pefa_xs(words()(items), clicked(items), weight=0.4, calibrated=False),
    "flat": lambda items: dense(items, encoder()),
    "flat float16": lambda items: dense(items, encoder(), storage="float16"),
    "flat prefiltered": lambda items: dense(items, encoder(), guarded=True),
    "pefa-xs": lambda items: pefa_xs(dense(items, encoder()), clicked(items), weight=0.4, calibrated=False),
    "hybrid": lambda items: (
        dense(items, encoder()).normalized("rank")
        + pefa_xs(dense(items, encoder(), guarded=True), clicked(items), weight=0.4, calibrated=False).normalized(
            "rank"
        )
    ),
}


@pytest.mark.parametrize("name", FRESH)
def test_the_answers_are_those_of_a_fresh_build(name, tmp_path):
    gone = [*list(ITEMS)[3:9], "newer"]
    wanted = {id: text for id, text in {**ITEMS, **NEW}.items() if id not in gone}
    with warnings.catch_warnings(action="ignore"):
        changed, fresh = FRESH[name](ITEMS).with_items(NEW).without_items(gone), FRESH[name](wanted)
    assert list(changed.items) == list(fresh.items)
    for k in (1, 8, len(wanted)):
        assert changed(QUERIES, k) == fresh(QUERIES, k)
        assert changed(QUERIES[0], k) == fresh(QUERIES[0], k)
    changed.save(tmp_path / "changed")
    assert vizsla.load(tmp_path / "changed")(QUERIES, 8) == fresh(QUERIES, 8)


def test_calibrated_moved_vectors_keep_their_settings():
    how = {"weight": 0.4, "margin": 0.1, "item_weight": 0.5}
    wanted = {id: text for id, text in {**ITEMS, **NEW}.items() if id not in list(ITEMS)[3:9]}
    search = pefa_max(dense(ITEMS, encoder()), clicked(ITEMS), **how)
    changed, base = search.with_items(NEW).without_items(list(ITEMS)[3:9]), dense(wanted, encoder())
    fresh = PefaXs.build(base, grown_log(base, clicked(wanted)), search.settings)
    assert changed(QUERIES, 8) == fresh(QUERIES, 8)
    assert len(changed.log.items) < len(search.log.items)


def test_what_is_known_of_items_follows():
    colors = Dataset.of([{"id": "a", "text": "a fig", "color": "red"}, {"id": "b", "text": "a pear", "color": "green"}])
    more = Dataset.of([{"id": "c", "text": "a red fig", "color": "red"}])
    search = dense(colors, encoder()).with_items(more)
    assert set(search("fig", 3, where=vizsla.where("color = red")).ids[0]) == {"a", "c"}
    assert search.without_items(["a"])("fig", 3, where=vizsla.where("color = red")).ids == [["c"]]


def test_bm25_that_does_not_tell_its_counts_says_so():
    texts = {"a": "fig fig tree", "b": "fig", "c": "plum tree"}
    some = bm25({"a": texts["a"]}, statistics=bm25(texts).statistics)
    for search in (bm25(texts, k1=0), bm25(texts, b=1), bm25(texts, variant="robertson"), some):
        assert not search.takes_items
        with pytest.raises(InputError, match="build it again"):
            search.with_items(NEW)


def test_the_statistics_of_bm25_come_back():
    for how in ({}, {"analyzer": TWO}):
        search = bm25(ITEMS, **how)
        assert search.with_items(NEW).without_items(NEW).statistics == search.statistics


def test_bytes_keep_their_ranges():
    search = dense(ITEMS, encoder(), storage="int8")
    grown = search.with_items(NEW)
    assert grown.index.stored.rows[: len(ITEMS)].tobytes() == search.index.stored.rows.tobytes()
    assert grown.without_items(NEW)(QUERIES, 8) == search(QUERIES, 8)


def test_words_that_votes_brought_stay():
    with warnings.catch_warnings(action="ignore"):
        search = pefa_xs(tfidf(ITEMS), clicked(ITEMS), weight=0.4, calibrated=False)
        fresh = pefa_xs(tfidf(ITEMS).with_items(NEW), clicked(ITEMS), weight=0.4, calibrated=False)
    assert search.with_items(NEW)(QUERIES, 8) == fresh(QUERIES, 8)
