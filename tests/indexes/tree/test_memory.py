"""What `nbytes` of a tree counts is what a process really grows by. A sanitizer keeps more beside every block."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

GROWN = """
import json
import numpy as np
from tests.indexes.tree.trees import DIM, make_matchers, make_queries, make_tree
from vizsla.core.candidates import Candidates
from vizsla.indexes.tree import TreeIndex

def resident():
    fields = dict(line.split(":") for line in open("/proc/self/status"))
    return int(fields["RssAnon"].split()[0]) * 1024

pick = np.random.default_rng(0)
layers, items = make_tree(pick, [60, 60, 60], least=40)
index = TreeIndex.build(layers, items, make_matchers(pick, layers, density=0.9), dim=DIM)
queries = make_queries(pick, 50)
ask = lambda: index.scores(queries, Candidates.from_rows([pick.choice(len(index), 3) for _ in range(50)]))
ask()
before, counted = resident(), index.nbytes
while index.nbytes == counted:
    ask()
print(json.dumps({"grown": resident() - before, "counted": index.nbytes - counted}))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads what Linux says of a process")
def test_what_is_counted_is_what_the_process_grows_by():
    # What is freed goes back at once, or it would be taken for what comes later.
    told = {"env": os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}, "cwd": ROOT, "text": True, "check": True}
    done = subprocess.run([sys.executable, "-c", GROWN], capture_output=True, **told)
    sizes = json.loads(done.stdout)
    assert sizes["counted"] > 16e6
    assert 0.9 * sizes["counted"] < sizes["grown"] < 1.3 * sizes["counted"]
