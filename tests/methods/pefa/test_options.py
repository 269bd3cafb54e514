"""An adapted index is built as its base's was."""

from __future__ import annotations

import pytest

from tests.methods.pefa.small import ENCODER, make_base, make_clicks
from tests.methods.pefa.test_xl import FIXED
from tests.methods.pefa.test_xs import QUERIES
from vizsla.artifacts.artifact import load
from vizsla.methods.pefa import pefa_max, pefa_xl, pefa_xs

HNSW = {"storage": "float16", "M": 5, "ef_construction": 33, "ef": 21}
IVF = {"storage": "float16", "lists": 7, "probes": 3}
CASES = [("hnsw", HNSW), ("ivf", IVF), ("flat", {"storage": "float16"})]


@pytest.mark.parametrize(("kind", "options"), CASES)
def test_xs_keeps_the_bases_options_through_clicks_and_saving(kind, options, tmp_path):
    base = make_base(index=kind, **options)
    assert base.index.options == options
    found = pefa_xs(base, make_clicks(), weight=0.5, calibrated=True)
    found.save(tmp_path / "xs")
    for one in (found, found.with_clicks([("new", "i1")]), load(tmp_path / "xs")):
        assert (one.index.kind, one.index.options) == (kind, options)
    best = pefa_max(base, make_clicks(), weight=0.5, margin=1.0)
    assert (best.index.index.kind, best.index.index.options) == (kind, options)


def test_bytes_become_numbers_so_that_new_clicks_round_nothing():
    found = pefa_xs(make_base(index="hnsw", **{**HNSW, "storage": "int8"}), make_clicks(), weight=0.5)
    assert found.index.options == {**HNSW, "storage": "float32"}


@pytest.mark.parametrize(("kind", "options"), CASES)
def test_xl_indexes_past_queries_as_the_base_its_items(kind, options, tmp_path):
    found = pefa_xl(make_base(index=kind, **options), make_clicks(), **FIXED)
    found.save(tmp_path / "xl")
    loaded = load(tmp_path / "xl").with_encoder(ENCODER)
    for one in (found, found.with_clicks([("new", "i1")])):
        assert (one.index.kind, one.index.options) == (kind, options)
    assert loaded.index.kind == kind and loaded(QUERIES, k=9) == found(QUERIES, k=9)


@pytest.mark.parametrize(("storage", "kept"), [("float32", "float16"), ("int8", "int8")])
def test_xl_walks_past_queries_in_half_the_bytes(storage, kept):
    base = make_base(index="hnsw", **{**HNSW, "storage": storage})
    found = pefa_xl(base, make_clicks(), **FIXED)
    assert found.index.options == {**HNSW, "storage": kept}
    answers = found(QUERIES, k=9)
    assert answers == found.score(QUERIES, answers)
    assert found.with_clicks([("new", "i1")]).without_clicks([("new", "i1")])(QUERIES, k=9) == answers
    assert pefa_xl(base, make_clicks(), storage="float32", **FIXED).index.options["storage"] == "float32"


def test_xl_takes_options_of_its_own():
    found = pefa_xl(make_base(), make_clicks(), index="hnsw", M=6, ef=40, **FIXED)
    assert (found.index.options["M"], found.index.options["ef"]) == (6, 40)
