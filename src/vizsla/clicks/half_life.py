"""The half-life of the clicks that something learned from, as its artefact keeps it."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from vizsla.errors import FormatError

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader


def read_half_life(reader: ArtifactReader) -> float | None:
    """Return the parameter `half_life`: days, or None where clicks did not age."""
    days = reader.parameter("half_life", (float, int, type(None)))
    if days is None:
        return None
    if isinstance(days, bool) or not isfinite(days) or days <= 0:
        raise FormatError(f"{reader.path}: a half-life must be days, above 0. Got {days!r}.")
    return float(days)
