"""Codes behind retrievers: coding what is there, PEFA before and after, explanation, the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.contract.catalog import CLICKED, CLICKS, ITEMS, QUERIES
from vizsla.artifacts.artifact import load
from vizsla.cli import main
from vizsla.data.dataset import Dataset
from vizsla.encoders.lsa import LsaEncoder
from vizsla.errors import InputError
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.methods.bm25 import bm25
from vizsla.methods.dense import dense
from vizsla.methods.pefa import pefa_max, pefa_xl, pefa_xs
from vizsla.methods.pq import pq


@pytest.fixture(scope="module")
def encoder():
    return LsaEncoder.fit(ITEMS.values(), dim=24)


@pytest.fixture(scope="module")
def log():
    with pytest.warns(UserWarning):
        return Dataset.of(ITEMS, queries=CLICKED, clicks=CLICKS)


def test_a_dense_retriever_is_coded(encoder):
    base = dense(ITEMS, encoder)
    small = pq(base, bytes=6)
    assert isinstance(small.index, PqIndex)
    assert small.items == base.items
    # fewer items than centroids: nothing is lost
    assert small(QUERIES, k=5).ids == base(QUERIES, k=5).ids


def test_pefa_is_coded_after_its_clicks(encoder, log, tmp_path):
    for adapted in (
        pefa_xs(dense(ITEMS, encoder), log, weight=0.5, calibrated=True),
        pefa_max(dense(ITEMS, encoder), log, weight=0.7, margin=0.5),
    ):
        small = pq(adapted, bytes=5)
        assert small(QUERIES, k=5).ids == adapted(QUERIES, k=5).ids
        with pytest.raises(InputError, match="before the vectors are coded"):
            small.with_clicks([("fig", next(iter(ITEMS)))])
        small.save(tmp_path / "small", overwrite=True)
        assert load(tmp_path / "small")(QUERIES, k=5) == small(QUERIES, k=5)


def test_pefa_over_codes(encoder, log):
    base = dense(ITEMS, encoder, index="pq", bytes=6)
    votes = pefa_xl(base, log, weight=0.5, neighbors=4)
    assert votes.index is None or votes.index.kind == "flat"
    found = votes(QUERIES, k=5)
    assert votes.score(QUERIES, found) == found
    assert pefa_xs(base, log, weight=1.0)(QUERIES, k=5).ids == base(QUERIES, k=5).ids


def test_what_cannot_be_coded_is_said(encoder):
    with pytest.raises(InputError, match="dense retriever"):
        pq(bm25(ITEMS))
    with pytest.raises(InputError, match="second time"):
        pq(pq(dense(ITEMS, encoder), bytes=6), bytes=4)


def test_items_come_and_go(encoder):
    base = pq(dense(ITEMS, encoder), bytes=6)
    grown = base.with_items({"new": "fig tree fig"})
    assert len(grown.items) == len(ITEMS) + 1
    assert grown.without_items(["new"])(QUERIES, k=5) == base(QUERIES, k=5)
    with pytest.raises(InputError, match="new"):
        grown.with_items({"new": "again"})
    with pytest.raises(InputError, match="build it anew"):
        dense(ITEMS, encoder, index="hnsw").with_items({"new": "fig"})


@pytest.mark.parametrize("bits", [8, 4])
def test_an_explanation_adds_up_and_says_what_was_lost(encoder, bits):
    small = pq(dense(ITEMS, encoder), bytes=8, bits=bits, rounds=2)
    found = small(QUERIES[0], k=1)
    why = small.explain(QUERIES[0], found[0][0].id)
    assert why.score == pytest.approx(found[0][0].score)
    assert sum(part.score for part in why.parts) == pytest.approx(why.score, abs=1e-5)
    assert f"{bits}-bit codes" in why.reason
    assert "coding lost" in why.parts[0].reason


def test_the_command_line_codes_a_model(encoder, tmp_path, capsys):
    base = dense(ITEMS, encoder)
    base.save(tmp_path / "dense")
    main(["index", "pq", str(tmp_path / "dense"), "-o", str(tmp_path / "pq"), "--bytes", "6", "--no-opq"])
    assert "became codes" in capsys.readouterr().out
    assert load(tmp_path / "pq")(QUERIES, k=4) == pq(base, bytes=6, opq=False)(QUERIES, k=4)
    main(["inspect", str(tmp_path / "pq")])
    assert "16.0 times smaller than float32" in capsys.readouterr().out


def test_the_command_line_builds_codes_from_texts(tmp_path, capsys):
    lines = [json.dumps({"id": item, "text": text}) for item, text in ITEMS.items()]
    (tmp_path / "items.jsonl").write_text("\n".join(lines))
    options = ["--dim", "24", "--index", "pq", "--bytes", "4", "--bits", "4"]
    main(["index", "dense", str(tmp_path / "items.jsonl"), "-o", str(tmp_path / "out"), *options])
    built = load(tmp_path / "out")
    assert (built.index.bytes, built.index.bits) == (4, 4)
    assert np.isfinite(built(QUERIES, k=3).scores).all()
    for wrong in (["--index", "flat", "--bytes", "4"], ["--index", "pq", "--storage", "int8"]):
        assert main(["index", "dense", str(tmp_path / "items.jsonl"), "-o", str(tmp_path / "no"), *wrong]) != 0


@pytest.mark.parametrize(("kind", "options"), [("hnswpq", {"M": 4, "ef": 20}), ("ivfpq", {"lists": 8, "probes": 8})])
def test_structures_over_codes_score_as_codes_do(kind, options):
    from tests.indexes.pq.made import vectors
    from vizsla.indexes.factory import make_index

    index, asked = make_index(kind, vectors(), bytes=6, rounds=1, **options), vectors()[:20]
    found, exact = index.search(asked, 5), index.search(asked, 5, exact=True)
    assert index.flat().score(asked, found) == found
    shared = [len(set(found.row(n)[0]) & set(exact.row(n)[0])) for n in range(20)]
    assert np.mean(shared) > (4.99 if kind == "ivfpq" else 3)
    doubled = index.with_centroids(index.centroids * np.float32(2))
    assert doubled.search(asked, 5).scores.tolist() == (found.scores * 2).tolist()
    with pytest.raises(InputError, match="build it anew"):
        index.without_items(np.array([0]))
    with pytest.raises(InputError, match="must be 8"):
        make_index(kind, vectors(), bytes=6, bits=4, rounds=1, **options)


def test_a_graph_over_codes_holds_them_once(tmp_path):
    from tests.indexes.pq.made import vectors
    from vizsla.indexes.factory import make_index
    from vizsla.indexes.pq.ann_over_pq import HnswPqIndex
    from vizsla.indexes.pq.codebook import PqCodes

    index, asked = make_index("hnswpq", vectors(), bytes=6, rounds=1, M=4, ef=20), vectors()[:20]
    assert index.nbytes == index.stored_codes.nbytes + index.codebook.nbytes + index.graph.nbytes
    assert index.stored_codes.stored.shape == (1500, 6, 1)
    held = index._storage.codes
    assert not hasattr(held, "is_owned") or not held.is_owned  # Faiss looks at our array
    index.save(tmp_path / "graph")
    for mmap in (True, False):
        assert HnswPqIndex.load(tmp_path / "graph", mmap=mmap).search(asked, 5) == index.search(asked, 5)
    blocked = PqCodes.of(index.codes, bits=8)  # as earlier versions stored them
    assert blocked.stored.shape[2] == 64
    again = HnswPqIndex(blocked, index.codebook, index.graph, ef=20)
    assert again.search(asked, 5) == index.search(asked, 5)


def test_lists_of_codes_hold_them_once(tmp_path):
    from faiss import rev_swig_ptr

    from tests.indexes.pq.made import vectors
    from vizsla.indexes.factory import make_index
    from vizsla.indexes.pq.ann_over_pq import IvfPqIndex
    from vizsla.indexes.pq.pq_index import PqIndex

    index, asked = make_index("ivfpq", vectors(), bytes=6, rounds=1, lists=8, probes=2), vectors()[:20]
    found, lists = index.search(asked, 5), index._faiss.invlists
    assert index.nbytes == index.codebook.nbytes + index.centers.nbytes + (6 + 3 * 4 + 8) * 1500
    last = lists.nlist - 1  # Faiss looks at our array
    assert np.array_equal(
        rev_swig_ptr(lists.get_codes(last), 6), index.stored_codes.take([lists.get_single_id(last, 0)])[0]
    )
    assert rev_swig_ptr(lists.get_codes(0), 6).ctypes.data == index.stored_codes.stored.ctypes.data
    index.save(tmp_path / "lists")
    plain = PqIndex.build(vectors(), bytes=6, rounds=1)
    assert np.array_equal(index.codes, plain.codes)
    for mmap in (True, False):
        again = IvfPqIndex.load(tmp_path / "lists", mmap=mmap)
        assert again.search(asked, 5) == found
        assert np.array_equal(np.load(tmp_path / "lists" / "codes.npy"), plain.stored_codes.stored)
    for share in (2, 7, 300):
        allowed = np.arange(1500) % share == 0
        exact = plain.search(asked, 12, filter=allowed)
        assert index.search(asked, 12, filter=allowed, exact=True) == exact
        assert index._exactly(asked, 12, index._prepared(allowed), 1) == exact


@pytest.mark.parametrize("kind", ["hnswpq", "ivfpq"])
def test_structures_stay_when_items_are_marked(kind):
    from tests.indexes.pq.made import vectors
    from vizsla.indexes.factory import make_index
    from vizsla.indexes.pq.click_flag import marked_index

    index, marks = make_index(kind, vectors(), bytes=6, rounds=1), np.arange(1500) % 3 == 0
    marked, asked = marked_index(index, vectors(), marks), np.pad(vectors()[:20], ((0, 0), (0, 1)))
    assert type(marked) is type(index)
    assert marked.search(asked, 5) == marked.score(asked, marked.search(asked, 5))
    asked[:, -1] = -1e6
    assert not marks[marked.search(asked, 5, exact=True).items].any()


@pytest.mark.parametrize("bits", [8, 4])
def test_codes_in_rows_answer_as_codes_in_blocks(bits):
    from tests.indexes.pq.made import made, vectors
    from vizsla.indexes.pq.pq_index import PqIndex

    index, asked = made(bits), vectors()[:9]
    rows = PqIndex(index.stored_codes.in_rows(), index.codebook)
    assert rows.stored_codes.in_rows() is rows.stored_codes
    assert np.array_equal(rows.codes, index.codes)
    for allowed in (None, np.arange(1500) % 7 == 0):
        assert rows.search(asked, 12, filter=allowed) == index.search(asked, 12, filter=allowed)
    found = index.search(asked, 12)
    assert rows.scores(asked, found).scores.tolist() == index.scores(asked, found).scores.tolist()
