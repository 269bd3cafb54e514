"""PEFA-XS over BM25 learns the words that only clicked queries have."""

from __future__ import annotations

import pytest

from vizsla.artifacts.artifact import load
from vizsla.base.queries import Queries
from vizsla.methods.bm25 import bm25
from vizsla.methods.pefa import pefa_xs
from vizsla.text.analyzers import Analyzer
from vizsla.text.bag_of_words import BagOfWords

ITEMS = {"onion": "a bulb with layers", "fig": "a sweet fruit", "pear": "a green fruit"}
CLICKS = [("zwiebel", "onion"), ("rote zwiebel", "onion", 2), ("sweet fruit", "fig")]
QUERIES = ["zwiebel", "rote", "fruit", "sweet zwiebel", "unknown"]


@pytest.mark.parametrize("variant", ["lucene", "robertson", "atire", "bm25l", "bm25+"])
def test_a_word_that_no_item_has_finds_what_was_clicked_for_it(variant):
    base = bm25(ITEMS, variant=variant)
    assert base("zwiebel").ids == [[]]
    found = pefa_xs(base, CLICKS, weight=0.5, calibrated=False)
    assert found("zwiebel", k=1).ids == [["onion"]] and found("rote", k=1).ids == [["onion"]]
    assert found("unknown").ids == [[]]
    assert base("zwiebel").ids == [[]] and list(base.encoder.terms) == list(bm25(ITEMS).encoder.terms)
    assert list(found.encoder.terms) == [*base.encoder.terms, "rote", "zwiebel"]
    why = found.explain("zwiebel", "onion")
    assert why.score == pytest.approx(found("zwiebel").to_dict()["0"]["onion"], rel=1e-6)
    assert any("'zwiebel'" in part.reason for part in why.parts[1].parts)


def test_stemmed_words_too():
    base = bm25(ITEMS, analyzer=Analyzer(stem="german"))
    assert pefa_xs(base, CLICKS, weight=0.5, calibrated=False)("zwiebeln", k=1).ids == [["onion"]]


@pytest.mark.parametrize("variant", ["lucene", "bm25+"])
def test_taking_the_clicks_away_leaves_no_trace(variant):
    base = bm25(ITEMS, variant=variant)
    few = pefa_xs(base, CLICKS[2:], weight=0.5, calibrated=False)
    more = few.with_clicks(CLICKS[:2])
    assert more(QUERIES, k=9) == pefa_xs(base, CLICKS, weight=0.5, calibrated=False)(QUERIES, k=9)
    assert more.encoder.fingerprint == pefa_xs(base, CLICKS, weight=0.5, calibrated=False).encoder.fingerprint
    less = more.without_clicks(CLICKS[:2])
    assert less(QUERIES, k=9) == few(QUERIES, k=9) and less("zwiebel").ids == few("zwiebel").ids
    assert less.encoder.fingerprint == base.encoder.fingerprint and less.index.dim == base.index.dim


def test_new_words_survive_saving(tmp_path):
    found = pefa_xs(bm25(ITEMS), CLICKS, weight=0.5, calibrated=False)
    found.save(tmp_path / "xs")
    loaded = load(tmp_path / "xs")
    assert loaded(QUERIES, k=9) == found(QUERIES, k=9) and loaded.encoder.fingerprint == found.encoder.fingerprint


def test_weight_1_is_the_base_itself():
    base = bm25(ITEMS)
    found = pefa_xs(base, CLICKS, weight=1)
    assert found.index is base.index and found.encoder is base.encoder
    moved = found.with_clicks([("violett", "fig")])
    assert moved(QUERIES) == base(QUERIES) and len(moved.log) == 4


def test_a_query_is_encoded_once(monkeypatch):
    found, calls = pefa_xs(bm25(ITEMS), CLICKS, weight=0.5, calibrated=False), []
    real = BagOfWords.queries
    monkeypatch.setattr(BagOfWords, "queries", lambda self, texts: (calls.append(self), real(self, texts))[1])
    answer = found(QUERIES)
    assert calls == [found.encoder]
    found.score(QUERIES, answer)
    assert calls == [found.encoder] * 2
    whole = found.normalized() + 0.5 * found.normalized()
    whole(QUERIES)
    assert calls == [found.encoder] * 3


def test_bytes_count_the_grown_vocabulary_and_its_lists():
    base = bm25(ITEMS)
    found = pefa_xs(base, CLICKS, weight=0.5, calibrated=False)
    assert found.nbytes == found.index.nbytes + found.encoder.nbytes
    assert found.encoder.nbytes > base.encoder.nbytes and found.index.nbytes > base.index.nbytes


def test_columns_of_the_base_keep_their_numbers():
    base = bm25(ITEMS)
    bag = base.grown_encoder(["zwiebel"])
    assert bag.dim == base.encoder.dim + 1
    rows = Queries(["zwiebel fruit"]).encoded(bag)
    assert rows.columns.tolist() == [base.encoder.terms.find("fruit"), base.encoder.dim]
