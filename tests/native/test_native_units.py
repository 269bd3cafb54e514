"""The C++ unit tests of native/common compile without warnings and pass under the address sanitizer."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_units_of_native_code_pass():
    done = subprocess.run([sys.executable, str(ROOT / "scripts" / "native_tests.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all tests passed" in done.stdout
