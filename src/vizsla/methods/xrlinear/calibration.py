"""Calibration: how the matcher of an item without clicks is made."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from vizsla.errors import FormatError

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader


class Calibration(NamedTuple):
    """A cold matcher is `neighbours` × the mean of its neighbours' matchers + `text` × the item's text + `bias`."""

    neighbours: float
    text: float
    bias: float


def read_calibration(reader: ArtifactReader) -> Calibration:
    """Return the calibration of an artefact; anything but finite numbers raises FormatError."""
    numbers = reader.parameter("calibration", list)
    if len(numbers) != len(Calibration._fields) or not all(type(n) is float and isfinite(n) for n in numbers):
        raise FormatError(f"{reader.path}: the calibration must be {len(Calibration._fields)} finite numbers.")
    return Calibration(*numbers)
