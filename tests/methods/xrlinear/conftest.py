from __future__ import annotations

import pytest

from tests.methods.xrlinear.toy import toy
from vizsla.methods.xrlinear.build import xrlinear

SMALL = {"branching": 3, "max_leaf": 6}
"""Three layers over the toy's 48 items."""


@pytest.fixture(scope="session")
def log():
    return toy(cold=6)


@pytest.fixture(scope="session")
def model(log):
    return xrlinear(log, **SMALL)


@pytest.fixture(scope="session")
def warm():
    """Every item has clicks."""
    return toy()


@pytest.fixture
def train():
    return lambda dataset, **options: xrlinear(dataset, **{**SMALL, **options})
