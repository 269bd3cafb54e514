"""A cut where nothing is searched has no meaning, so it is refused; where something is searched it counts."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.table_retriever import TableRetriever
from vizsla import load
from vizsla.base.encoder import FunctionEncoder
from vizsla.compose.budgeted import rerank
from vizsla.compose.operators import Rerank
from vizsla.compose.parser import parse
from vizsla.compose.shards import shards
from vizsla.errors import CompositionError, FormatError
from vizsla.methods.cur import adacur, score_anchors
from vizsla.methods.pefa import pefa_xl

ITEMS = [f"i{number}" for number in range(12)]
SCORES = np.random.default_rng(4).permutation(24).reshape(2, 12).astype(float).tolist()
A, B = (TableRetriever({"q": dict(zip(ITEMS, row, strict=True))}, ITEMS) for row in SCORES)
HERE, THERE = (TableRetriever({"q": {item: float(at)}}, [item]) for at, item in enumerate(ITEMS[:2]))
LENGTH = FunctionEncoder(lambda texts: [[len(text)] for text in texts], dim=1, name="length")
VOTES = {"weight": 0.5, "neighbors": 1, "votes": "mean", "near": 0.0, "scale": 1.0, "threshold": 0.0}

IGNORED = {
    "plain": lambda: B % 5,
    "weighted": lambda: 1 * (B % 5),
    "sum": lambda: 0.5 * (B % 5) + 0.5 * A,
    "sum of sums": lambda: A + (2 * A).plus(B % 5, depth=7),
    "scaled": lambda: (B % 5).scaled("exp", slope=0.1),
    "normalized inside": lambda: B.normalized() % 5,
    "beside a scale": lambda: B.normalized() + (A.normalized() % 5),
    "cut of a sum": lambda: 0.5 * ((A + B) % 5) + 0.5 * A,
    "pipeline": lambda: (A >> B) % 5,
    "first step of a pipeline": lambda: (A % 5) >> B,
    "pipeline in a sum": lambda: (A >> B) + ((A % 5) >> B),
    "shards": lambda: shards([HERE % 5, THERE]),
    "below votes": lambda: pefa_xl(B % 5, [("q", "i1")], encoder=LENGTH, **VOTES),
}


@pytest.mark.parametrize("form", IGNORED)
def test_a_cut_that_scoring_ignores_is_refused(form):
    for compose in (lambda b: A >> b, lambda b: A.rerank(b, depth=3), lambda b: rerank(A, b, budget=3)):
        with pytest.raises(CompositionError, match=r"`% 5` inside of it would be ignored.*\(a >> b\) % 5"):
            compose(IGNORED[form]())


@pytest.mark.parametrize(
    "form", ["a >> b % 5", "a >> 1 * (b % 5)", "a >> (0.5*(b % 5) + 0.5*a)", "a.rerank(b.cut(5).times(2))"]
)
def test_a_composition_string_is_refused_alike(form):
    with pytest.raises(CompositionError, match=r"`% 5` inside of it would be ignored"):
        parse(form, {"a": A, "b": B})


def test_what_was_saved_with_such_a_cut_is_refused_on_loading(tmp_path, monkeypatch):
    with monkeypatch.context() as older:
        older.setattr("vizsla.compose.operators.check_uncut", lambda scorer: None)
        (A >> (1 * (B % 5))).save(tmp_path / "older")
    with pytest.raises(FormatError, match="`% 5` inside of it would be ignored"):
        load(tmp_path / "older")


def test_the_scorer_of_a_budgeted_search_has_no_cut():
    anchors = score_anchors(B, ["q"])
    for refused in (lambda: adacur(1 * (B % 5), anchors), lambda: score_anchors(B % 5, ["q"])):
        with pytest.raises(CompositionError, match="`% 5` inside of it would be ignored"):
            refused()


def test_cuts_that_count_are_taken():
    b = dict(zip(ITEMS, SCORES[1], strict=True))
    best = sorted(ITEMS, key=lambda item: -SCORES[0][ITEMS.index(item)])
    assert set(((A % 4) >> B)("q", k=12).ids[0]) == set(best[:4])
    assert ((A >> B) % 4)("q", k=12).ids[0] == sorted(ITEMS, key=b.__getitem__, reverse=True)[:4]
    fives = sorted(b.values(), reverse=True)[:5]
    low, high = fives[-1], fives[0]
    scaled = (A >> (B % 5).normalized())("q", k=12).to_dict()["0"]
    assert scaled == pytest.approx({item: (b[item] - low) / (high - low) for item in ITEMS}, abs=1e-6)
    assert set(((A % 2) | (B % 2))("q", k=12).ids[0]) == {*best[:2], *sorted(ITEMS, key=b.__getitem__)[-2:]}


def test_a_budgeted_scorer_searches_so_its_cut_counts():
    spent = Rerank(A, rerank(B % 5, B, budget=9))("q", k=12)
    assert spent.stats.estimated == 7, "five were bought, and the others are taken for the least of them"
