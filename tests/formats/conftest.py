"""The tiny artefact, registered as a kind for as long as a test runs."""

from __future__ import annotations

import pytest

from tests.formats.tiny import KIND, Tiny
from vizsla.artifact import KINDS


@pytest.fixture(autouse=True)
def tiny_is_a_kind(monkeypatch):
    for kind, place in KIND.items():
        monkeypatch.setitem(KINDS, kind, place)


@pytest.fixture
def tiny():
    return Tiny.make()


@pytest.fixture
def saved(tiny, tmp_path):
    return tiny.save(tmp_path / "saved")
