"""Encoding, anchors, sweeps and shards on workers: the same files and answers as without."""

import numpy as np
import pytest

import vizsla
from tests.methods.xrlinear.toy import toy
from vizsla.base.encoder import FunctionEncoder
from vizsla.base.recipe import Recipe
from vizsla.encoders.lsa import LsaEncoder
from vizsla.encoders.resumable import resumable_encode
from vizsla.encoders.vectors import Vectors
from vizsla.errors import InputError
from vizsla.evaluation.sweep import sweep
from vizsla.methods.cur.anchors import score_anchors
from vizsla.scale import build_shards, connect
from vizsla.text.analyzers import AnyLanguage

TEXTS = [f"text {number} of {number % 7}" for number in range(2100)]


def rows_of(texts):
    return [[len(text), text.count("1") / 3, hash_of(text)] for text in texts]


def hash_of(text):
    return sum(map(ord, text)) / 97


def encoder(function=rows_of):
    return FunctionEncoder(function, dim=3, name="three numbers")


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_encoding_writes_the_same_file(tmp_path, workers):
    resumable_encode(encoder(), TEXTS, tmp_path / "local")
    with connect(workers=workers) as on:
        rows = resumable_encode(encoder(), TEXTS, tmp_path / "shared", on=on)
    assert len(rows) == len(TEXTS)
    for name in ("rows.partial", "progress.json"):
        assert (tmp_path / "shared" / name).read_bytes() == (tmp_path / "local" / name).read_bytes()


def test_encoding_continues_after_an_error(tmp_path):
    broken = [False]

    def breaks(texts):
        if texts[0] == TEXTS[1024] and not broken[0]:
            broken[0] = True
            raise InputError("a worker complains")
        return rows_of(texts)

    with connect(workers=2) as on:
        with pytest.raises(InputError, match="a worker complains"):
            resumable_encode(encoder(breaks), TEXTS, tmp_path / "shared", on=on)
        assert 0 < (tmp_path / "shared" / "rows.partial").stat().st_size <= 1024 * 6
        resumable_encode(encoder(breaks), TEXTS, tmp_path / "shared", on=on)
    resumable_encode(encoder(), TEXTS, tmp_path / "local")
    assert (tmp_path / "shared" / "rows.partial").read_bytes() == (tmp_path / "local" / "rows.partial").read_bytes()


def test_vectors_are_encoded_on_workers(tmp_path):
    with connect(workers=2) as on:
        made = Vectors.encode(TEXTS, encoder(), tmp_path / "made", on=on)
    assert np.array_equal(made.rows, Vectors.encode(TEXTS, encoder(), tmp_path / "local").rows)


def test_anchor_scores_are_the_same(tmp_path):
    scorer = vizsla.bm25({str(number): text for number, text in enumerate(TEXTS[:50])})
    queries = ["text 3", "of 5", "text 11 of 4"]
    local = score_anchors(scorer, queries)
    with connect(workers=2, processes=True) as on:
        assert score_anchors(scorer, queries, shard=17, on=on).fingerprint == local.fingerprint
        score_anchors(scorer, queries, tmp_path / "anchors", shard=17, on=on)
        with pytest.raises(InputError, match="must not be wrapped"):
            score_anchors(vizsla.Budget(scorer, calls=1000), queries, on=on)
    assert vizsla.load(tmp_path / "anchors").fingerprint == local.fingerprint


def test_a_sweep_measures_the_same():
    dataset = toy(30)
    judged = vizsla.Dataset(dataset.items, dataset.queries, clicks=dataset.clicks, qrels={"test": dataset.clicks})
    systems = {k1: vizsla.bm25(dataset, k1=k1) for k1 in (0.5, 1.5)}
    here = sweep("k1", systems, judged, measures="R@5", latency_queries=0)
    with connect(workers=2, processes=True) as on:
        there = sweep("k1", systems, judged, measures="R@5", latency_queries=0, on=on)
    assert [one.measures for one in there.evaluations.values()] == [one.measures for one in here.evaluations.values()]


@pytest.mark.parametrize("analyzer", [None, AnyLanguage("english")])
def test_shards_answer_as_the_whole(tmp_path, analyzer):
    dataset = vizsla.Dataset.of({f"i{number}": text for number, text in enumerate(TEXTS[:300])})
    settings = {} if analyzer is None else {"analyzer": analyzer}
    whole = vizsla.bm25(dataset, **settings)
    with connect(workers=2) as on:
        parts = build_shards(dataset, Recipe.of("bm25", **settings), 3, tmp_path / "shards", on=on)
        again = build_shards(dataset, Recipe.of("bm25", **settings), 3, tmp_path / "shards", on=on)
        with pytest.raises(InputError, match="must score items one by one"):
            build_shards(dataset, Recipe.of("tfidf"), 3, tmp_path / "other", on=on)
    for query in ("text 3", "of 5 12", "text 11 of 4"):
        assert parts(query, k=20) == whole(query, k=20) == again(query, k=20)


LSA_TEXTS = {f"i{number}": f"fig tree {number % 7} pear {number % 5} plum {number % 11}" for number in range(200)}


@pytest.mark.parametrize("name", ["flat", "pq", "tfidf", "tokens", "learned"])
def test_shards_of_what_was_trained_answer_as_the_whole(tmp_path, name):
    words = LsaEncoder.fit(LSA_TEXTS.values(), dim=8)
    whole = {
        "flat": lambda: vizsla.dense(LSA_TEXTS, words, storage="float32"),
        "pq": lambda: vizsla.dense(LSA_TEXTS, words, index="pq", bytes=4),
        "tfidf": lambda: vizsla.tfidf(LSA_TEXTS, entries=9),
        "tokens": lambda: vizsla.tokens(LSA_TEXTS),
        "learned": lambda: vizsla.tokens(LSA_TEXTS, [("sweet", "i3"), ("old", "i7")], epochs=2),
    }[name]()
    dataset = vizsla.Dataset.of(LSA_TEXTS)
    with connect(workers=2) as on:
        parts = build_shards(dataset, whole, 3, tmp_path / "shards", on=on)
        again = build_shards(dataset, whole, 3, tmp_path / "shards", on=on)
        with pytest.raises(InputError, match="shards of other items or another recipe were begun"):
            build_shards(dataset, whole, 2, tmp_path / "shards", on=on)
        with pytest.raises(InputError, match="must be a recipe, or a trained retriever"):
            build_shards(dataset, vizsla.bm25(LSA_TEXTS), 2, tmp_path / "other", on=on)
    for query in ("fig 3 plum", "sweet", "old pear 4", "tree 5"):
        assert parts(query, k=20) == whole(query, k=20) == again(query, k=20)


def test_what_is_no_placement_is_refused(tmp_path):
    calls = [
        lambda on: Vectors.encode(["a"], encoder(), tmp_path / "vectors", on=on),
        lambda on: vizsla.xrlinear(vizsla.Dataset.of(["a"]), on=on),
        lambda on: sweep("k1", vizsla.bm25(["a"]), vizsla.Dataset.of(["a"]), on=on),
    ]
    for call in calls:
        with pytest.raises(InputError, match="`on` must be a Placement"):
            call("ray")
