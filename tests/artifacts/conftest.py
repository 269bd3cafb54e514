"""The tiny artifact, made and saved."""

from __future__ import annotations

import pytest

from tests.artifacts.tiny import Tiny


@pytest.fixture
def tiny():
    return Tiny.make()


@pytest.fixture
def saved(tiny, tmp_path):
    return tiny.save(tmp_path / "saved")
