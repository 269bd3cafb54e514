"""Optional libraries are imported without side effects outside the process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

WRITTEN = """
import os, sys
from pathlib import Path
from vizsla._internal.lazy import import_extra

import_extra("onnxruntime", "Encoding", "onnx")
print([str(entry) for entry in Path(os.environ["HOME"]).rglob("*")])
"""


def test_onnx_runtime_reports_nothing_and_leaves_no_files(tmp_path):
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    told = {name: str(tmp_path) for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME")}
    kept = {name: value for name, value in os.environ.items() if name not in ("ORT_DISABLE_TELEMETRY", "CI")}
    done = subprocess.run([sys.executable, "-c", WRITTEN], env=kept | told, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]", "while it runs: a device id, a database, a session"
    assert not list(tmp_path.rglob("*")), "after it has ended"
