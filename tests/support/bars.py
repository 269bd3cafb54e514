"""Values at the bar of a setting and just beyond it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from vizsla.errors import InputError

NOT_NUMBERS = (float("nan"), float("inf"), "many", True)
WHOLE = ([1, 7], [0, -1, 1.5])
WHOLE_FROM_0 = ([0, 7], [-1, 0.5])
SHARE = ([0, 0.5, 1], [-0.001, 1.001])
ABOVE_0 = ([1e-9, 9.0], [0, -1.0])
FROM_0 = ([0, 9.0], [-0.001])


def check_bars(make: Callable[..., Any], name: str, values: tuple[list[Any], list[Any]]) -> None:
    """Assert that a class of settings takes some values of one and refuses others by its name."""
    allowed, refused = values
    for value in allowed:
        assert getattr(make(**{name: value}), name) == value
    for value in (*refused, *NOT_NUMBERS):
        with pytest.raises(InputError, match=f"`{name}`"):
            make(**{name: value})
