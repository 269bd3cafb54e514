"""The committed type stub describes the native module that is built."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_stub_is_fresh():
    script = [sys.executable, str(ROOT / "scripts" / "stubs.py"), "--print"]
    built = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    committed = (ROOT / "src" / "vizsla" / "_native.pyi").read_text(encoding="utf-8")
    assert committed == built, "the native module changed: run `make stubs` and commit src/vizsla/_native.pyi"
