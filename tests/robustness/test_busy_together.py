"""Sixteen threads search while others save, load and fork: right answers, and nobody hangs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.stuck import finished

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.skipif(bool(os.environ.get("LD_PRELOAD")), reason="a sanitizer cannot fork a process with threads")
def test_searches_while_others_save_load_and_fork(tmp_path):
    command = [sys.executable, "-m", "tests.robustness.busy_together", str(tmp_path)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    _, said = finished(process)
    assert process.returncode == 0, said
