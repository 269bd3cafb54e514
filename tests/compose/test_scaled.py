"""Scores by one rule for all queries, against the formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.methods.fusion.test_fuse import fruit_log
from tests.support.table_retriever import TableRetriever
from vizsla import load
from vizsla.errors import CompositionError, InputError
from vizsla.methods.bm25 import bm25
from vizsla.methods.xrlinear.build import xrlinear

TABLE = {"q": {"a": -1.0, "b": -3.0, "c": -2.0}}


def table() -> TableRetriever:
    return TableRetriever(TABLE, ["a", "b", "c", "d"], scale="log relevance", floor=-9.0)


def test_the_rules_are_their_formulas():
    linear, steep = table().scaled(slope=0.5), table().scaled("exp", slope=0.5, height=2.0)
    assert linear("q").to_dict()["0"] == {"a": -0.5, "c": -1.0, "b": -1.5}
    expected = {item: np.float32(2 * math.exp(0.5 * TABLE["q"][item])) for item in "acb"}
    assert steep("q").to_dict()["0"] == expected


def test_no_rescaled_score_exceeds_the_highest_there_can_be():
    """What a sum takes for the bound of items outside of a list."""
    best = TableRetriever({"q": {"a": 1.0, "b": 0.5}}, ["a", "b"], scale="points")
    assert table().scaled(slope=3.0).max_score == table().scaled("exp").max_score == math.inf
    best.max_score = 1.0
    for rescaled, highest in [
        (best.scaled(slope=3.0), 3.0),
        (best.scaled(slope=0.25), 0.25),
        (best.scaled("exp", slope=0.5, height=2.0), 2 * math.exp(0.5)),
    ]:
        assert rescaled.max_score == pytest.approx(highest)
        assert rescaled("q")[0][0].score == pytest.approx(rescaled.max_score)


def test_a_part_that_is_unsure_counts_little():
    scores = {"q": {"a": -0.1, "b": -4.0}, "p": {"a": -8.0, "b": -12.0}}
    sure = TableRetriever(scores, ["a", "b"], scale="log relevance")
    other = TableRetriever({text: {"b": 0.5, "a": 0.1} for text in "qp"}, ["a", "b"], scale="points")
    joined = sure.scaled("exp") + other.scaled()
    assert joined(["q", "p"], 1).ids == [["a"], ["b"]]


@pytest.mark.parametrize("how", ["linear", "exp"])
def test_a_sum_over_a_beam_is_the_sum_of_its_scores(how):
    """No ceiling of a tree's beam may cut off what the rescaled sum would have found."""
    log = fruit_log()
    words, tree = bm25(log), xrlinear(log, kind_shares=(1, 1, 1), beam=2)
    joined = 0.3 * words.scaled(slope=0.2) + 0.7 * tree.scaled(how, slope=0.3)
    asked = log.query_texts()[1][:40]
    found = joined(asked, 10)
    rescored = joined.score(asked, found)
    assert np.array_equal(found.items, rescored.items)
    assert np.array_equal(found.scores, rescored.scores)
    union = (words | tree)(asked, 200)
    exhaustive = joined.score(asked, union)
    assert [row[:10] for row in exhaustive.ids] == found.ids


class Beam(TableRetriever):
    """Finds one item, and says what nobody else exceeds."""

    def _search(self, queries, k, filter, threads):
        return super()._search(queries, 1, filter, threads).with_upper_bounds(np.array([-1.0], np.float32))


def test_a_ceiling_is_brought_to_the_scale_of_the_scores():
    """Taken as it is, -1 would rule b out: e^-1 and 0.3 are more than a's e^-0.5."""
    beam = Beam({"q": {"a": -0.5, "b": -1.0}}, ["a", "b"], scale="log relevance", floor=-9.0)
    other = TableRetriever({"q": {"b": 0.3, "a": 0.0}}, ["a", "b"], scale="points", exact=True)
    assert (beam.scaled("exp") + other.scaled())("q", 1).ids == [["b"]]


def test_it_saves_and_explains(tmp_path):
    search = table().scaled("exp", slope=0.25, height=3.0)
    why = search.explain("q", "b")
    assert why.score == pytest.approx(3 * math.exp(-0.75), rel=1e-6)
    words = bm25(["a fig", "a pear"]).scaled("exp", slope=0.25, height=3.0)
    words.save(tmp_path / "scaled")
    assert load(tmp_path / "scaled")("fig").to_dict() == words("fig").to_dict()
    assert str(words) == f"{bm25(['a fig', 'a pear'])}.scaled('exp', slope=0.25, height=3)"


def test_what_makes_no_scale_is_refused():
    with pytest.raises(CompositionError, match="above 0"):
        table().scaled(slope=-1.0)
    with pytest.raises(InputError, match="one of linear, exp"):
        table().scaled("log")
    with pytest.raises(CompositionError, match="match set"):
        (table() | table()).scaled()
