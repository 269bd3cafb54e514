"""Every example runs by itself, prints something, and leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
SAYS = {
    "first_hit": "word",
    "filter_by_stock": "['apple', 'plum']",
    "learn_from_clicks": "clicks:",
    "adapt_an_encoder": "'onion': 0.6",
    "rerank_under_a_budget": "asked again, model calls: 0 spent: 2",
    "evaluate_and_compare": "bytes/item",
    "your_own_retriever": "[['apple']]",
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example, tmp_path):
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert SAYS[example.stem] in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_every_example_is_expected():
    assert {example.stem for example in EXAMPLES} == set(SAYS)
