"""Every number among the settings of learned tokens has its bar."""

import pytest

from tests.support.bars import ABOVE_0, WHOLE, WHOLE_FROM_0, check_bars
from vizsla.methods.tokens.learner import LearningSettings

BARS = {"rate": ABOVE_0, "temperature": ABOVE_0, "negatives": WHOLE, "batch": WHOLE, "expansions": WHOLE_FROM_0}


@pytest.mark.parametrize("name", BARS)
def test_bars(name):
    check_bars(LearningSettings, name, BARS[name])
