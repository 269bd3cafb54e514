"""`report`: what a learner chose on held-out clicks, and why."""

from __future__ import annotations

import json
import random
import warnings

import pytest

import vizsla
from vizsla.learning import ChoiceWarning

ITEMS = {f"i{n}": f"word{n} word{n % 7} thing{n % 5}" for n in range(60)}
LOG = vizsla.Dataset.of(
    ITEMS,
    clicks=[(f"word{n} other{m}", f"i{n}") for n in range(60) for m in range(random.Random(n).randint(1, 3))],
)
LEARNERS = {
    "pefa": lambda: vizsla.pefa(vizsla.tfidf(LOG), LOG),
    "tokens": lambda: vizsla.tokens(LOG),
    "fuse": lambda: vizsla.fuse([vizsla.bm25(LOG), vizsla.tfidf(LOG)], LOG),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_says_what_it_chose_and_why(name):
    with warnings.catch_warnings(action="ignore", category=ChoiceWarning):
        made = LEARNERS[name]()
    assert made.report is not None
    assert len(made.report.summary) > 20 and json.dumps(made.report.to_dict())


def test_a_part_that_is_best_alone_keeps_its_own_report():
    part = vizsla.bm25(LOG)
    backwards = vizsla.bm25({name: text[::-1] for name, text in ITEMS.items()})
    fused = vizsla.fuse([part, backwards], LOG)
    assert fused("word3") == part("word3") and fused.report is not None and part.report is None


def test_without_a_choice_there_is_no_report():
    assert vizsla.bm25(ITEMS).report is None
    assert vizsla.tokens(LOG, epochs=0).report is None


def test_a_report_goes_with_a_changed_retriever():
    made = vizsla.pefa(vizsla.tfidf(LOG), LOG)
    assert made.with_clicks([("new words", "i1")]).report == made.report
