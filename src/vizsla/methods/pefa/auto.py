"""Settings that are chosen unless they are given."""

from __future__ import annotations

import warnings

from vizsla.checked import caller_level
from vizsla.clicks.choice_warning import ChoiceWarning
from vizsla.clicks.log import ClickLog
from vizsla.clicks.log_split import fewest_said
from vizsla.errors import InputError

AUTO = "auto"


def number_of(name: str, value: float | str) -> float:
    """Return a number that was given in place of "auto"."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f'`{name}` must be a number or "auto". Got {value!r}.')
    return float(value)


def warn_too_few(log: ClickLog) -> None:
    """Say that the base is returned as it is; the line that is blamed is the caller's."""
    remedy = "This is the base, weight 1: give `weight` to let the clicks count, or build anew when there are more."
    warnings.warn(f"{fewest_said(log)}. {remedy}", ChoiceWarning, stacklevel=caller_level())
