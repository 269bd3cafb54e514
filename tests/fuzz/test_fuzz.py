"""The fuzzing that belongs to the suite; `python -m benchmarks.fuzz` runs more of the same."""

from __future__ import annotations

import os

import pytest

from tests.fuzz.artefact_target import NAMES
from tests.fuzz.campaign import run

FEW = os.environ.get("VIZSLA_HYPOTHESIS") == "sanitize"
CASES = {"artefacts": 48 * len(NAMES), "compositions": 3000, "misuses": 3000}


@pytest.mark.parametrize("target", CASES)
def test_nothing_crashes_hangs_grows_or_raises_what_it_must_not(target):
    report = run(target, count=CASES[target] // (10 if FEW else 1), seed=2026)
    assert not report.findings, str(report)
    assert report.outcomes["refused"] and report.outcomes["answered"], "the cases must reach both ends"
