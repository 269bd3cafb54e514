"""The fuzzing that belongs to the suite; `python -m benchmarks.fuzz` runs more of the same."""

from __future__ import annotations

import os
import warnings
from contextlib import suppress

import numpy as np
import pytest

import vizsla
from tests.contract.test_artifact import ARTIFACTS
from tests.fuzz.artifact_target import NAMES
from tests.fuzz.campaign import run
from tests.fuzz.misuse_target import calls
from tests.fuzz.uses import uses
from vizsla.errors import VizslaError

FEW = os.environ.get("VIZSLA_HYPOTHESIS") == "sanitize"
CASES = {"artifacts": 48 * len(NAMES), "compositions": 3000, "misuses": 3000, "stores": 600, "commands": 1200}
CASES |= {"bombs": 80, "named models": 200, "http": 300, "engines": 60, "service": 2000}


@pytest.mark.parametrize("target", CASES)
def test_nothing_crashes_hangs_grows_or_raises_what_it_must_not(target):
    report = run(target, count=CASES[target] // (10 if FEW else 1), seed=2026)
    assert not report.findings, str(report)
    assert report.outcomes["refused"] and report.outcomes["answered"], "the cases must reach both ends"


def test_every_one_of_many_savers_succeeds():
    report = run("savers", count=20, seed=2026)
    assert not report.findings and report.outcomes["saved"] == 20, str(report)


REFUSED = {"another shape"}  # as it should be


def test_every_use_is_answered_by_something_sound(tmp_path):
    answered, all_uses = set(), set()
    with warnings.catch_warnings(action="ignore"):
        for make in ARTIFACTS.values():
            artifact, answer = make()
            for name, action in uses(artifact, answer, tmp_path, np.random.default_rng(0)):
                all_uses.add(name)
                with suppress(VizslaError):
                    action()
                    answered.add(name)
    assert all_uses - answered == REFUSED, "a use that is always refused tries nothing"


UNANSWERED = {"load", "open_dataset", "open_encoder"}  # of what is nowhere
UNANSWERED |= {"where"}  # its arguments have no names: see "where one" among the calls
UNANSWERED |= {"OnnxEncoder", "SentenceEncoder", "QueryModel", "train_cross_encoder", "train_sidr"}  # need a model
UNANSWERED |= {"adjust", "Client", "Completer", "signal", "typo_tolerant"}  # misused from None on, so far
UNANSWERED |= {"learn"}  # a race of methods takes seconds for each call


@pytest.mark.skipif(bool(os.environ.get("LD_PRELOAD")), reason="a sanitizer ends the evaluator under ir-measures")
def test_misuses_start_from_calls_that_are_answered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused = {}
    for name, function, given in calls(tmp_path):
        if name in vizsla.__all__ and name not in UNANSWERED:
            try:
                with warnings.catch_warnings(action="ignore"):
                    function(**given)
            except VizslaError as error:
                refused[name] = str(error)
    assert not refused, "an argument that is wrong from the start hides what the others do"
