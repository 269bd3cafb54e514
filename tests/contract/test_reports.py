"""`report`: what a learner chose on held-out clicks, and why."""

from __future__ import annotations

import json
import random
import warnings

import pytest

import vizsla
from vizsla.base.retriever import SavedReport
from vizsla.errors import InputError
from vizsla.learning import ChoiceWarning
from vizsla.methods.cur.anchors import score_anchors

ITEMS = {f"i{n}": f"word{n} word{n % 7} thing{n % 5}" for n in range(60)}
LOG = vizsla.Dataset.of(
    ITEMS,
    clicks=[(f"word{n} other{m}", f"i{n}") for n in range(60) for m in range(random.Random(n).randint(1, 3))],
)
LARGE = vizsla.Dataset.of(
    {f"i{n}": f"word{n} word{n % 7}" for n in range(150)},
    clicks=[(f"word{n} other{m}", f"i{n}", 1.0 + m) for n in range(150) for m in range(4)],
)
SCORER = vizsla.tfidf(ITEMS)


def anchors():
    return score_anchors(SCORER, [f"word{n} thing{n % 5}" for n in range(0, 60, 4)])


LEARNERS = {
    "pefa": lambda: vizsla.pefa(vizsla.tfidf(LOG), LOG),
    "tokens": lambda: vizsla.tokens(LOG),
    "fuse": lambda: vizsla.fuse([vizsla.bm25(LOG), vizsla.tfidf(LOG)], LOG),
    "xrlinear": lambda: vizsla.xrlinear(LARGE),
    "residual cur": lambda: vizsla.residual_cur(SCORER, anchors(), vizsla.bm25(LOG), budget=20, rounds=2),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_says_what_it_chose_and_why_also_once_it_is_loaded(name, tmp_path):
    with warnings.catch_warnings(action="ignore", category=ChoiceWarning):
        made = LEARNERS[name]()
    assert made.report is not None
    assert len(made.report.summary) > 20 and json.dumps(made.report.to_dict())
    made.save(tmp_path / "saved")
    report = vizsla.load(tmp_path / "saved").report
    told = {key: value for key, value in made.report.to_dict().items() if key != "seconds"}
    assert report.summary == made.report.summary
    assert json.loads(json.dumps(report.to_dict())) == json.loads(json.dumps(told))


def test_a_report_is_saved_again_and_goes_with_a_change(tmp_path):
    made = vizsla.xrlinear(LARGE)
    made.save(tmp_path / "first")
    loaded = vizsla.load(tmp_path / "first")
    loaded.with_items([("new", "word3")]).save(tmp_path / "second")
    assert vizsla.load(tmp_path / "second").report.summary == made.report.summary


def test_numbers_that_json_does_not_have_are_left_out_of_a_saved_report():
    report = SavedReport("a summary", {"all": float("nan"), "trials": [{"p": float("inf"), "k": 1}], "seconds": {}})
    assert SavedReport.of(report).to_dict() == {"all": None, "trials": [{"p": None, "k": 1}]}


@pytest.mark.parametrize("stored", [None, "words", {"summary": 1, "values": {}}, {"summary": "so", "values": []}])
def test_another_report_is_refused(stored):
    with pytest.raises(InputError, match="`report` must have"):
        SavedReport.read(stored)


def test_a_part_that_is_best_alone_keeps_its_own_report():
    part = vizsla.bm25(LOG)
    backwards = vizsla.bm25({name: text[::-1] for name, text in ITEMS.items()})
    fused = vizsla.fuse([part, backwards], LOG)
    assert fused("word3") == part("word3") and fused.report is not None and part.report is None


def test_xrlinear_reports_the_settings_it_uses():
    made = vizsla.xrlinear(LARGE)
    tried = made.report.to_dict()
    assert (
        made.recipe.settings["kind_shares"]
        == tried["kind_shares"]["trials"][tried["kind_shares"]["best"]]["kind_shares"]
    )
    assert made.recipe.settings["click_weights"] == made.report.made["click_weights"].chosen["click_weights"]
    assert {trial["click_weights"] for trial in tried["click_weights"]["trials"]} == {"damped", "none", "raw"}


def test_residual_cur_reports_the_fit_it_uses():
    made = LEARNERS["residual cur"]()
    tried = made.report.to_dict()["tried"]
    assert f"basis {made.report.basis}, rank {made.report.rank}" in made.report.summary
    assert made.report.basis == tried["basis"]["trials"][tried["basis"]["best"]]["basis"]
    assert max(trial["all"] for trial in tried["fit"]["trials"]) == pytest.approx(made.report.recall)
    assert (
        vizsla.residual_cur(
            SCORER, anchors(), vizsla.bm25(LOG), budget=20, rounds=2, basis="scores", rank=2, ridge=0.1
        ).report
        is None
    )


def test_without_a_choice_there_is_no_report():
    assert vizsla.bm25(ITEMS).report is None
    assert vizsla.xrlinear(LOG, kind_shares=(1, 1, 1), click_weights="none").report is None
    assert vizsla.tokens(LOG, epochs=0).report is None


def test_a_report_goes_with_a_changed_retriever():
    made = vizsla.pefa(vizsla.tfidf(LOG), LOG)
    assert made.with_clicks([("new words", "i1")]).report == made.report
