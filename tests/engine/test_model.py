"""After any sequence of changes, flushes, merges and reopenings, an engine answers as a fresh build does."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.model import FLUSH_ROWS, MEMORY, walk
from vizsla.engine import maintenance

STEPS = 100


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32), flush_rows=st.sampled_from(FLUSH_ROWS))
def test_an_engine_equals_a_fresh_build_after_any_sequence_of_changes(seed, flush_rows):
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        walk(Path(folder) / "engine", seed, steps=STEPS, flush_rows=flush_rows)


@pytest.mark.parametrize("seed", range(3))
def test_it_does_so_where_columns_are_written_anew_after_a_few_changes(seed, tmp_path, monkeypatch):
    monkeypatch.setattr(maintenance, "MAX_CHANGED_ROWS", 2)
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        walk(Path(folder) / "engine", seed, steps=STEPS, flush_rows=FLUSH_ROWS[seed])
