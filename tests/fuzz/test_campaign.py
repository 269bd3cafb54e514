"""The fuzzing notices what it is made to notice: crashes, hangs, growth and untyped errors, and makes cases small."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz import child
from tests.fuzz.campaign import run, signature

MEMORY = 400 << 20


class FaultyTarget:
    """Does what its name says in case 3, if step 1 of three is among those kept."""

    def __init__(self, scratch: Path, seed: int, only: str = ""):
        self.only = only

    def run(self, case: int, kept: list[int] | None = None) -> tuple[str, list[str]]:
        """Run a case."""
        if case == 3 and 1 in (kept or range(3)):
            return getattr(self, self.only)(), ["step 1"]
        return "answered", []

    def crash(self) -> str:
        """End as a crash does."""
        os.abort()

    def hang(self) -> str:
        """Work for ever."""
        while True:
            pass

    def grow(self) -> str:
        """Take more memory than allowed."""
        self.held = np.ones(MEMORY // 8)
        return "answered"

    def raise_it(self) -> str:
        """Say what an untyped error is said to be."""
        return "failure: search: KeyError at index.py:7 in search: 'x'"


@pytest.fixture
def faulty(monkeypatch):
    monkeypatch.setenv("VIZSLA_FUZZ_TARGET", "tests.fuzz.test_campaign:FaultyTarget")
    monkeypatch.setenv("VIZSLA_FUZZ_MEMORY", str(MEMORY))


@pytest.mark.parametrize(
    ("fault", "said"),
    [("crash", "crash, exit code -6"), ("hang", "hang"), ("grow", "resident memory"), ("raise_it", "KeyError")],
)
def test_a_fault_is_found_and_made_small(faulty, monkeypatch, fault, said):
    if fault == "hang":
        monkeypatch.setattr(child, "HANG", 1.0)
    if fault == "grow" and os.environ.get("LD_PRELOAD"):
        pytest.skip("a sanitizer keeps memory of its own")
    report = run("given", count=6, only=fault)
    (finding,) = report.findings.values()
    assert said in finding.outcome and finding.case == 3 and finding.kept == [1] and finding.alone
    assert report.cases == 6 and report.outcomes["answered"] == 5
    assert "case 3, steps [1]" in str(report)


def test_two_errors_of_one_place_are_one_fault():
    assert signature("failure: a: KeyError at b.py:7 in f: 'x'") == signature(
        "failure: c: KeyError at b.py:7 in f: 'y'"
    )
    assert signature("failure: hang over 20 s") == signature("failure: hang over 1 s")


def test_a_case_is_the_same_whatever_ran_before(tmp_path):
    from tests.fuzz.artifact_target import ArtifactTarget

    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = ArtifactTarget(tmp_path / "one", 5, "strings"), ArtifactTarget(tmp_path / "two", 5, "strings")
    later = [one.run(case) for case in range(6)][-1]
    assert two.run(5) == later
