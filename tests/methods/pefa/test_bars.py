"""Every number among PEFA's options has its bar."""

import pytest

from tests.support.bars import FROM_0, SHARE, WHOLE, check_bars
from vizsla.methods.pefa import options

XS = {"weight": SHARE, "item_weight": SHARE, "scale": FROM_0, "shift": ([-9.0, 0, 9.0], [])}
XS |= {"length": ([1e-9, 1000, None], [0, 1000.1, -1]), "margin": ([-9.0, 9.0, None], [])}
XL = {"weight": ([1e-9, 1], [0, 1.001, -1]), "neighbors": WHOLE, "near": ([-9.0, 0.999], [1, 1.1]), "scale": FROM_0}
XL |= {"threshold": FROM_0}


@pytest.mark.parametrize("name", XS)
def test_bars_of_xs(name):
    check_bars(lambda **given: options.XsSettings(**{"weight": 0.5, **given}), name, XS[name])


@pytest.mark.parametrize("name", XL)
def test_bars_of_xl(name):
    check_bars(lambda **given: options.XlSettings(**{"weight": 0.5, "neighbors": 3, **given}), name, XL[name])
