"""SIGKILL at any moment: nothing acknowledged is lost, nothing is there in half, and the engine opens again."""

import tempfile
from pathlib import Path

import pytest

from tests.engine.history import OPTIONS
from tests.engine.killing import Killing
from tests.engine.model import MEMORY
from vizsla.engine.engine import Engine

KILLS = 100


@pytest.mark.parametrize("seed", range(4))
def test_a_killed_writer_loses_nothing_and_a_reader_beside_it_sees_whole_transactions(seed):
    with tempfile.TemporaryDirectory(dir=MEMORY) as base:
        folder = Path(base) / "engine"
        Engine.create(folder, maintenance="manual", **OPTIONS).close()
        killing = Killing(folder, seed)
        for number in range(KILLS // 4):
            killing.kill(answers=number % 5 == 0)
        assert killing.looks > KILLS // 4
        killing.close()
