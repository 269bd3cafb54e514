"""Building from a stream takes at most three times the index, and a little."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, random
from pathlib import Path
from vizsla.methods.bm25 import bm25

def peak():
    return next(int(line.split()[1]) << 10 for line in Path("/proc/self/status").open() if line.startswith("VmHWM"))

bm25(["a fig"])("fig")
before, pick = peak(), random.Random(1)
words = [f"word{n}" for n in range(3000)]
index = bm25(" ".join(pick.choices(words, k=60)) for _ in range(30_000))
print(json.dumps({"taken": peak() - before, "index": index.nbytes + index.items.nbytes}))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from Linux's /proc")
def test_peak_memory_at_build():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["index"] > 10e6
    assert found["taken"] <= 3 * found["index"] + 8e6
