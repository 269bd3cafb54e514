"""Every write, fsync, truncation and mkdir fails, once or for good: a typed error, and nothing is lost."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
STRIDE = 6
"""Of the calls; the others fail in the other cases, and all of them with `fail_everywhere`."""
CASES = [("once", errno.ENOSPC), ("once", errno.EIO), ("forever", errno.ENOSPC), ("forever", errno.EIO)]


@pytest.mark.parametrize(("first", "case"), list(enumerate(CASES)), ids=lambda value: str(value))
def test_an_engine_survives_a_call_that_fails(tmp_path, first, case):
    how, number = case
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    shim = tmp_path / "faults.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", shim, Path(__file__).with_name("faults.c"), "-ldl"], check=True)
    folder = Path(tempfile.mkdtemp(dir=MEMORY))
    command = [sys.executable, "-m", "tests.engine.fail_everywhere", folder, how, str(number), str(first), str(STRIDE)]
    done = subprocess.run(
        list(map(str, command)), env=os.environ | {"LD_PRELOAD": str(shim)}, capture_output=True, text=True, check=False
    )
    shutil.rmtree(folder)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line for line in lines if not line.endswith(" ok")] == []
    assert len(lines) > 30
