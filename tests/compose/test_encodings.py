"""One call encodes a query once for each distinct encoder, whatever is composed (law 15)."""

from __future__ import annotations

from collections import Counter

import pytest

import vizsla
from tests.contract.catalog import CLICKED, CLICKS, ITEMS, QUERIES
from vizsla.data.dataset import Dataset
from vizsla.encoders.lsa import LsaEncoder
from vizsla.methods.bm25 import bm25
from vizsla.methods.dense import dense
from vizsla.methods.pefa import pefa_xl, pefa_xs
from vizsla.text.bag_of_words import BagOfWords


@pytest.fixture(scope="module")
def parts():
    lsa, words = LsaEncoder.fit(ITEMS.values(), dim=12), bm25(ITEMS)
    vectors = dense(ITEMS, lsa)
    with pytest.warns(UserWarning):  # one item has no text
        log = Dataset.of(ITEMS, queries=CLICKED, clicks=CLICKS)
    votes = {"weight": 0.5, "neighbors": 3, "votes": "mean", "near": 0.0}
    return {
        "words": words,
        "vectors": vectors,
        "moved": pefa_xs(vectors, log, weight=0.5, calibrated=True),
        "voted": pefa_xl(vectors, log, **votes),
        "voted words": pefa_xl(words, log, encoder=lsa, **votes),
    }


COMPOSITIONS = {
    "dense": (lambda p: p["vectors"], {"lsa": 1}),
    "pefa-xs": (lambda p: p["moved"], {"lsa": 1}),
    "pefa-xl": (lambda p: p["voted"], {"lsa": 1}),
    "pefa-xl over words": (lambda p: p["voted words"], {"lsa": 1, "bag": 1}),
    "normalized sum": (lambda p: p["words"].normalized() + p["vectors"].normalized(), {"lsa": 1, "bag": 1}),
    "ranks of three": (
        lambda p: p["words"].normalized("rank") + p["voted"].normalized("rank") + p["moved"].normalized("rank"),
        {"lsa": 1, "bag": 1},
    ),
    "rerank of a union": (lambda p: (p["words"] | p["vectors"] | p["voted"]) >> p["moved"], {"lsa": 1, "bag": 1}),
    "nested": (
        lambda p: ((p["words"] >> p["vectors"]).normalized("zscore") + p["voted"].normalized("zscore")) % 5,
        {"lsa": 1, "bag": 1},
    ),
}


@pytest.fixture
def encodings(monkeypatch):
    """Count the calls of every encoder's `queries`, whichever object they go to."""
    counts = Counter()
    for name, kind in {"lsa": LsaEncoder, "bag": BagOfWords}.items():
        real = kind.queries
        monkeypatch.setattr(
            kind, "queries", lambda self, texts, *, _name=name, _real=real: counts.update([_name]) or _real(self, texts)
        )
    return counts


@pytest.mark.parametrize("name", COMPOSITIONS)
@pytest.mark.parametrize("loaded", [False, True])
def test_a_call_encodes_once(parts, encodings, tmp_path, name, loaded):
    make, expected = COMPOSITIONS[name]
    search = make(parts)
    if loaded:
        search = vizsla.load(search.save(tmp_path / "saved"))
    found = search(QUERIES, 5)
    assert encodings == expected
    encodings.clear()
    search(QUERIES[0], 3, where=list(ITEMS)[::2])
    assert encodings == expected
    for call in (
        lambda: search.score(QUERIES, found),
        lambda: search.explain(QUERIES[0], next(iter(ITEMS))),
        lambda: search.exact(QUERIES[:2], 5),
    ):
        encodings.clear()
        call()
        assert set(encodings.values()) == {1}
