"""What .ci/run says and returns, with a `make` that only pretends."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAKE = """#!/bin/sh
echo "working on $1"
case "$1" in
  lint) exit ${LINT:-0} ;;
  sanitize) echo "${NATIVE:-7 passed in 1.50s}"; exit ${NATIVE_CODE:-0} ;;
  test-integrations) echo "${ADAPTERS:-5 passed in 2.00s}"; exit ${ADAPTERS_CODE:-0} ;;
  test) echo "${SUITE:-30 passed, 2 skipped in 75.31s (0:01:15)}"; exit ${SUITE_CODE:-0} ;;
esac
"""


@pytest.fixture
def ci(tmp_path):
    make = tmp_path / "make"
    make.write_text(MAKE)
    make.chmod(0o755)

    def run(**variables):
        environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", **variables}
        done = subprocess.run([ROOT / ".ci" / "run"], env=environment, capture_output=True, text=True)
        assert done.stderr == ""
        return done.returncode, done.stdout.splitlines()

    return run


def test_all_pass(ci):
    code, lines = ci()
    assert code == 0 and lines[-1] == "30 passed, 2 skipped in 75.31s (0:01:15)"
    assert [line for line in lines if line.startswith("working")] == [
        "working on lint",
        "working on sanitize",
        "working on test-integrations",
        "working on test",
    ]
    assert [line.split()[0] for line in lines[-5:-1]] == ["passed"] * 4


@pytest.mark.parametrize(
    ("variables", "failed", "last"),
    [
        ({"LINT": "2"}, "lint", "30 passed, 1 failed"),
        ({"NATIVE": "3 failed, 4 passed in 1.50s", "NATIVE_CODE": "1"}, "sanitizer", "30 passed, 3 failed"),
        ({"NATIVE": "Segmentation fault", "NATIVE_CODE": "2"}, "sanitizer", "30 passed, 1 failed"),
        ({"ADAPTERS": "1 failed, 4 passed in 2.00s", "ADAPTERS_CODE": "1"}, "integrations", "30 passed, 1 failed"),
        ({"SUITE": "2 failed, 28 passed, 1 error in 9.00s", "SUITE_CODE": "1"}, "suite", "28 passed, 3 failed"),
        ({"SUITE": "No C++ compiler was found.", "SUITE_CODE": "2"}, "suite", "0 passed, 1 failed"),
    ],
)
def test_a_failure_is_named_and_the_rest_still_runs(ci, variables, failed, last):
    code, lines = ci(**variables)
    assert code == 1 and lines[-1] == last
    assert sum(line.startswith("working") for line in lines) == 4
    (named,) = [line for line in lines[-5:-1] if line.startswith("FAILED")]
    assert failed in named


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_every_step_is_a_target_of_the_makefile():
    for target in ("lint", "sanitize", "test", "test-core", "test-integrations"):
        done = subprocess.run(["make", "-C", str(ROOT), "-n", target], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
