"""What HNSW and IVF hold in memory while they are built and searched."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import vizsla
from vizsla.indexes.factory import make_index

ROOT = Path(__file__).resolve().parents[2]


def run(code: str, *given: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *given], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


MEASURE = """
import sys, numpy as np, faiss
from vizsla.artifacts.artifact import load
from vizsla.indexes.factory import make_index
def memory(what):
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return int(lines[what].split()[0]) / 1e3
make_index("hnsw", np.eye(4, dtype=np.float32)), make_index("ivf", np.eye(4, dtype=np.float32))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("kind, options", [("hnsw", "M=2, ef_construction=2"), ("ivf", "lists=16, rounds=1")])
def test_adding_holds_one_copy(kind, options, tmp_path):
    vectors = np.random.default_rng(0).standard_normal((60_000, 256), dtype=np.float32)
    np.save(tmp_path / "rows.npy", vectors)
    code = MEASURE + (
        "before = memory('VmHWM')\n"
        f"built = make_index({kind!r}, np.load(sys.argv[1], mmap_mode='r'), {options})\n"
        "print(memory('VmHWM') - before)"
    )
    size = vectors.nbytes / 1e6
    # The mapped file, Faiss's copy, and what is small: a second copy would not fit.
    assert float(run(code, str(tmp_path / "rows.npy"))) < 2 * size + 40 < 3 * size


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
def test_hnsw_is_searched_in_the_mapped_file(storage, tmp_path):
    vectors = np.random.default_rng(0).standard_normal((20_000, 512), dtype=np.float32)
    index = make_index("hnsw", vectors, storage=storage, M=2, ef_construction=2)
    saved = index.save(tmp_path / "saved")
    code = MEASURE + (
        "before = memory('RssAnon')\n"
        "index = load(sys.argv[1])\n"
        "found = index.search(np.ones((1, 512), np.float32), 5)\n"
        "print(memory('RssAnon') - before, *found.items)"
    )
    printed = run(code, str(saved)).split()
    assert float(printed[0]) < 0.5 * index.stored.nbytes / 1e6 + 3
    assert [int(number) for number in printed[1:]] == index.search(np.ones((1, 512), np.float32), 5).items.tolist()
    del index  # the arrays that Faiss looks at live as long as the index does
    again = vizsla.load(saved, mmap=False)
    assert again.search(np.ones((1, 512), np.float32), 5).items.tolist() == [int(number) for number in printed[1:]]
