"""In CI a test that is skipped for want of something fails; elsewhere it is named at the end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import skips

ROOT = Path(__file__).resolve().parents[2]
TESTS = {
    "test_module.py": "import pytest\npytest.importorskip('nowhere', reason='the extra neural is not installed')\n",
    "test_mark.py": "import pytest\n@pytest.mark.skipif(True, reason='no such machine')\ndef test_it(): pass\n",
    "test_data.py": "import pytest\ndef test_it(): pytest.skip('real data are not at the usual place')\n",
    "test_doubt.py": "import pytest\n@pytest.mark.xfail\ndef test_it(): assert 0\n",
    "test_plain.py": "def test_it(): pass\n",
}


@pytest.fixture
def suite(tmp_path):
    (tmp_path / "conftest.py").write_text("from tests.conftest import *  # noqa\n")
    for name, code in TESTS.items():
        (tmp_path / name).write_text(code)

    def run(*names, **variables):
        hidden = ("CI", "VIZSLA_TEST_CORE")
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        environment |= {"PYTHONPATH": str(ROOT), **variables}
        command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *names]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    return run


def test_elsewhere_skips_are_named(suite):
    code, said = suite()
    assert code == 0 and "1 passed, 3 skipped, 1 xfailed" in said
    assert "the extra neural is not installed" in said and "real data are not at" in said


def test_in_ci_a_missing_extra_fails(suite):
    code, said = suite("test_module.py", "test_plain.py", CI="true")
    assert code != 0 and "must not be skipped in CI: the extra neural is not installed." in said


def test_in_ci_a_mark_fails_and_absent_data_do_not(suite):
    code, said = suite("test_mark.py", "test_data.py", "test_doubt.py", "test_plain.py", CI="true")
    assert code == 1 and "must not be skipped in CI: no such machine." in said
    assert "1 passed, 1 skipped, 1 xfailed, 1 error" in said
    assert "real data are not at the usual place" in said


def test_a_core_run_refuses_torch(suite, tmp_path):
    (tmp_path / "torch.py").write_text("")
    code, said = suite("test_plain.py", VIZSLA_TEST_CORE="1", PYTHONPATH=f"{ROOT}{os.pathsep}{tmp_path}")
    assert code != 0 and "must run where torch is not installed" in said and "1 passed" not in said


@pytest.mark.parametrize("core", [True, False])
def test_only_a_core_run_may_lack_the_neural_extras(core, monkeypatch):
    monkeypatch.setattr(skips, "CORE", core)
    assert skips.expected("the extra neural is not installed") is core
    assert skips.expected("the extra onnx is not installed") is core
    assert not skips.expected("the rival test needs bm25s")
    assert not skips.expected("Chromium is not installed")
    assert skips.expected("real data are not at hand")
