"""After any sequence of changes, flushes, merges and reopenings, an engine answers as a fresh build does."""

import random
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.model import RECIPES, Model
from vizsla.engine.engine import Engine

STEPS = 100
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # thousands of commits need not wait for a disk
OPTIONS = {"members": RECIPES, "metadata": {"price": "number", "brand": "text"}, "durability": "process"}


def walk(folder, seed, *, flush_rows):
    """Take random steps with two engines over one folder, either of which may write."""
    chance = random.Random(seed)
    model = Model(chance)
    engines = [Engine.create(folder, flush_rows=flush_rows, maintenance="manual", **OPTIONS)]
    engines.append(Engine.open(folder, maintenance="manual"))
    for _ in range(STEPS):
        one = chance.randrange(2)
        act = chance.random()
        if act < 0.7:
            model.change(engines[one])
        elif act < 0.77:
            engines[one].flush()
        elif act < 0.82:
            engines[one].maintain()
        elif act < 0.84:
            engines[one].compact(erase=chance.random() < 0.3)
        elif act < 0.88:
            engines[one].close()
            engines[one] = Engine.open(folder, maintenance="manual")
        else:
            model.compare(engines[one])
    for engine in engines:
        model.compare(engine)
        assert engine.check() == []
        engine.close()


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32), flush_rows=st.sampled_from([2, 5, 20, 10_000]))
def test_an_engine_equals_a_fresh_build_after_any_sequence_of_changes(seed, flush_rows):
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        walk(Path(folder) / "engine", seed, flush_rows=flush_rows)
