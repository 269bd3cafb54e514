"""Ctrl-C in the middle of a budgeted search, or of scoring anchors: it ends soon, and what was paid for is kept."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.methods.cur.scorers import ANCHORS, QUERIES, full
from tests.methods.cur.search_slowly import CHUNK, WORKS, paid
from tests.support.interrupts import interrupted, started, wait_until

ROOT = Path(__file__).resolve().parents[3]
CALLS = {"search": 20 * len(QUERIES), "anchors": 60 * len(ANCHORS)}
SOON = 1.0
"""CPU seconds from Ctrl-C to the end."""


@pytest.mark.parametrize("work", WORKS)
def test_what_was_paid_for_is_kept(work, tmp_path):
    process = started([sys.executable, "-m", "tests.methods.cur.search_slowly", work, str(tmp_path), "6"], cwd=ROOT)
    wait_until(lambda: len(paid(tmp_path)) >= 6 * CHUNK, process)
    said, seconds = interrupted(process)
    before = paid(tmp_path)
    assert process.returncode and b"KeyboardInterrupt" in said and seconds < SOON
    assert len(before) < CALLS[work] and not (tmp_path / "anchors").exists()
    found, every = WORKS[work](tmp_path), paid(tmp_path)
    again = len(every) - len(set(every))
    assert again <= CHUNK and len(set(every)) == CALLS[work]  # at most what was under way is paid for twice
    if work == "anchors":
        assert np.array_equal(found.scores(), full(ANCHORS))
    else:
        (tmp_path / "fresh").mkdir()
        assert found == WORKS[work](tmp_path / "fresh")
