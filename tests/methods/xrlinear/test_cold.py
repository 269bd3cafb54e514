"""Items without clicks: found by their text from the start, added and removed without training."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import vizsla
from tests.methods.xrlinear.toy import item_text
from tests.support.folders import contents
from vizsla.core.candidates import Candidates
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.indexes.tree import node_matcher
from vizsla.methods.xrlinear.cold_start import ColdCalibration, _fit, cold_matchers, matchers_by_item
from vizsla.methods.xrlinear.tree import LabelTree
from vizsla.methods.xrlinear.tuning import default_encoder

QUERIES = [*(f"nick{n}" for n in range(0, 42, 5)), *(item_text(n) for n in range(40, 48)), "garden", "harbour thing8"]
NEW = {"new/1": "garden thing12 wheelbarrow", "new/2": "harbour crane", "new/3": ""}


def everything(model):
    return model.exhaustive()(QUERIES, k=len(model.items))


def test_items_without_clicks_are_found_by_their_text(model):
    found = model([item_text(n) for n in range(42, 48)], k=3).ids
    assert all(f"i{n}" in row for n, row in zip(range(42, 48), found, strict=True))


def test_without_cold_start_they_are_found_less(log, model, train):
    plain = train(log, cold_start=False)
    queries = [item_text(n).rpartition(" ")[0] for n in range(42, 48)]
    wanted = Candidates.from_rows([np.array([n], np.int32) for n in range(42, 48)], catalog=model.items)
    ranks = [
        [row.index(f"i{n}") for n, row in zip(range(42, 48), m.exhaustive()(queries, k=48).ids, strict=True)]
        for m in (model, plain)
    ]
    assert sum(ranks[0]) <= sum(ranks[1])
    assert not np.array_equal(model.score(queries, wanted).scores, plain.score(queries, wanted).scores)


def test_a_cold_matcher_is_the_calibrated_mix(model):
    pick = np.random.default_rng(0)
    matchers = csr_array(pick.normal(size=(4, 6)).astype(np.float32))
    near = csr_array(np.array([[0.75, 0.25, 0, 0]], np.float32))
    text = csr_array(np.array([[0, 0, 1, 0, 0]], np.float32))
    made = cold_matchers(near, matchers, text, ColdCalibration(2.0, 3.0, -0.5)).toarray()
    expected = 2 * (0.75 * matchers.toarray()[0] + 0.25 * matchers.toarray()[1])
    expected[2] += 3
    expected[5] -= 0.5
    assert made[0] == pytest.approx(expected, abs=1e-6)


def test_new_items_are_found_and_the_others_keep_their_scores(model):
    more = model.with_items(NEW)
    assert list(more.items) == [*model.items, *NEW]
    assert more("wheelbarrow garden", k=3).ids[0].count("new/1") == 1
    old = everything(model).to_dict()
    for query, row in everything(more).to_dict().items():
        assert {item: score for item, score in row.items() if item not in NEW} == old[query]
    assert more.explain("garden wheelbarrow", "new/1").parts[-1].reason == "no training query: placed by its text"


@pytest.mark.parametrize("weights", ["float32", "int16", "int8"])
def test_add_then_delete_is_never_added(log, train, tmp_path, weights):
    model = train(log, weights=weights)
    back = model.with_items(NEW).without_items(NEW)
    assert everything(back) == everything(model)
    assert back(QUERIES, k=9) == model(QUERIES, k=9)
    one, two = model.save(tmp_path / "one"), back.save(tmp_path / "two")
    assert contents(one) == contents(two)


def test_a_saved_model_takes_items_and_loses_them(model, tmp_path):
    loaded = vizsla.load(model.save(tmp_path / "saved"))
    more = loaded.with_items(NEW)
    assert everything(more) == everything(model.with_items(NEW))
    again = vizsla.load(more.save(tmp_path / "more"))
    assert everything(again) == everything(more)
    assert everything(again.without_items(NEW)) == everything(model)


def test_removed_items_are_gone_and_the_others_keep_their_scores(model):
    gone = {"i3", "i17", "i47"}
    fewer = model.without_items(gone)
    assert list(fewer.items) == [item for item in model.items if item not in gone]
    old = everything(model).to_dict()
    for query, row in everything(fewer).to_dict().items():
        assert row == {item: score for item, score in old[query].items() if item not in gone}
    assert fewer.explain("nick4", "i4").parts[-1].reason.startswith("chosen for 3 training queries")


def test_one_after_another_is_all_at_once(model):
    pairs = list(NEW.items())
    assert everything(model.with_items(pairs)) == everything(model.with_items(NEW))
    stepwise = model
    for item in ("i5", "i6"):
        stepwise = stepwise.without_items([item])
    assert everything(stepwise) == everything(model.without_items(["i6", "i5"]))


def test_a_leaf_can_overflow_into_others(model):
    many = {f"n{n}": "garden thing12" for n in range(300)}
    more = model.with_items(many)
    assert np.diff(more.tree.layers[-1]).max() == 256
    assert len(more("garden thing12", k=348).ids[0]) == 348


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda model: model.with_items({"i1": "again"}), "i1"),
        (lambda model: model.with_items([("x", "a"), ("x", "b")]), "x"),
        (lambda model: model.without_items(["nobody"]), "nobody"),
        (lambda model: model.without_items("i1"), "several ids"),
        (lambda model: model.without_items(model.items), "At least one item must be left"),
        (lambda model: model.with_items(NEW, neighbors=0), "`neighbors` must be"),
    ],
)
def test_wrong_changes_are_refused(model, change, message):
    with pytest.raises(InputError, match=message):
        change(model)


def test_no_change_is_no_change(model):
    assert model.with_items({}) is model
    assert everything(model.without_items([])) == everything(model)


def test_a_matcher_for_every_item_can_be_read(model):
    matrix = matchers_by_item(model.index)
    assert matrix.shape == (48, model.encoder.dim + 1)
    nickname = next(f for f in range(model.encoder.dim) if model.encoder.feature_name(f) == "nick7")
    assert np.argmax(matrix[:, [nickname]].toarray()) == 7


def test_the_text_of_an_item_without_clicks_teaches_its_siblings_nothing(train):
    """Two texts of one such item, in the same place of the tree: the others' matchers stay, unless it learns itself."""
    queries = {"r": "red", "g": "green"}
    clicks = [("r", "a"), ("g", "b")]
    texts = ["a shiny red fruit", "a dull green fruit"]
    known = {"a": "red apple", "b": "green pear"}
    logs = [Dataset.of({**known, "c": text}, queries=queries, clicks=clicks) for text in texts]
    tree = LabelTree([[0, 1], [0, 3]], [0, 1, 2])
    same = {"encoder": default_encoder([*texts, "red apple", "green pear"]), "tree": tree, "threshold": 0.0}
    for cold_start in (True, False):
        one, other = (train(log, cold_start=cold_start, **same) for log in logs)
        pairs = [(node_matcher(one.index, 1, place), node_matcher(other.index, 1, place)) for place in (0, 1)]
        alike = [np.array_equal(a, b) for left, right in pairs for a, b in zip(left, right, strict=True)]
        assert all(alike) == cold_start


def test_a_drawn_negative_costs_fifteen_times_what_a_positive_does():
    """Of one positive and one negative that look alike, (1 - b)² + 15 (1 + b)² is least at b = (1 - 15) / (1 + 15)."""
    alike = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    *_, bias = _fit(alike, np.array([True, False]))
    assert bias == pytest.approx(-14 / 16, abs=1e-4)
