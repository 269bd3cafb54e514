"""Sixteen threads search while others save, load and fork: right answers, and nobody hangs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 900
"""Seconds until it counts as stuck; it takes a few."""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.skipif(bool(os.environ.get("LD_PRELOAD")), reason="a sanitizer cannot fork a process with threads")
def test_searches_while_others_save_load_and_fork(tmp_path):
    command = [sys.executable, "-m", "tests.interrupts.busy_together", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
