"""Every number among the settings of a cross-encoder's training has its bar."""

import pytest

from tests.support.bars import SHARE, WHOLE, WHOLE_FROM_0, check_bars
from vizsla.methods.cross_encoder import CrossEncoderSettings

BARS = dict.fromkeys(("epochs", "batch", "negatives", "depth", "every", "patience", "held_out"), WHOLE)
BARS |= dict.fromkeys(("share", "rate", "decay", "warm_up", "cold"), SHARE)
BARS |= {"max_steps": ([1, None], [0, 1.5]), "seed": WHOLE_FROM_0}


@pytest.mark.parametrize("name", BARS)
def test_bars(name):
    check_bars(CrossEncoderSettings, name, BARS[name])
