"""NumberRange: which numbers a setting may be. Every class of settings is held against its ranges here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any

from vizsla.errors import MOST, InputError


@dataclass(frozen=True)
class NumberRange:
    """The finite numbers from `low` to `high`; a bool is none, and whole ones have 64 bits at most.

    Parameters
    ----------
    low, high : float
        Both included, unless said otherwise.
    whole : bool
        Whether it must be a whole number.
    above, below : bool
        Whether `low`, or `high`, is itself left out.
    optional : bool
        Whether None is allowed, too.

    Examples
    --------
    >>> str(NumberRange(0, 1)), str(NumberRange(1, whole=True)), str(NumberRange(0, above=True, optional=True))
    ('between 0 and 1', 'a whole number above 0', 'a number above 0, or None')
    >>> NumberRange(0, 1).holds(0.5), NumberRange(0, 1).holds(True)
    (True, False)
    """

    low: float = -inf
    high: float = inf
    whole: bool = False
    above: bool = False
    below: bool = False
    optional: bool = False

    def holds(self, value: object) -> bool:
        """Return whether a value is one of these numbers."""
        if value is None:
            return self.optional
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            return False
        number: Any = value
        inside = abs(int(number)) <= MOST if isinstance(value, Integral) else isfinite(float(number))
        low = number > self.low if self.above else number >= self.low
        return bool(inside and low and (number < self.high if self.below else number <= self.high))

    def check(self, name: str, value: object) -> None:
        """Raise unless a value is one of these numbers."""
        if not self.holds(value):
            raise InputError(f"`{name}` must be {self}. Got {value!r}.")

    def __str__(self) -> str:
        plain = not (self.whole or self.above or self.below)
        if plain and isfinite(self.low) and isfinite(self.high):
            said = f"between {self.low:g} and {self.high:g}"
        else:
            said = " ".join(["a whole number" if self.whole else "a number", *self._limits()])
        return f"{said}, or None" if self.optional else said

    def _limits(self) -> list[str]:
        """Say the limits that there are."""
        limits = []
        if isfinite(self.low):
            least = self.low - 1 if self.whole and self.low == 1 else self.low
            limits.append(f"{'above' if self.above or least != self.low else 'of at least'} {least:g}")
        if isfinite(self.high):
            limits.append(f"{'below' if self.below else 'at most'} {self.high:g}")
        return [" and ".join(limits)] if limits else ["that is finite"]


SHARE = NumberRange(0, 1)
COUNT = NumberRange(1, whole=True)
COUNT_OR_NONE = NumberRange(1, whole=True, optional=True)
COUNT_FROM_0 = NumberRange(0, whole=True)
FROM_0 = NumberRange(0)
ABOVE_0 = NumberRange(0, above=True)


def check_numbers(settings: Any, ranges: Mapping[str, NumberRange]) -> None:
    """Raise unless every named number of some settings is in its range.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> check_numbers(SimpleNamespace(share=0.5, epochs=True), {"share": SHARE, "epochs": COUNT})
    Traceback (most recent call last):
    ...
    vizsla.errors.InputError: `epochs` must be a whole number above 0. Got True.
    """
    for name, range_ in ranges.items():
        range_.check(name, getattr(settings, name))
