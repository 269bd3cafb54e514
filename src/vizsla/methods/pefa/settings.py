"""What a PEFA-XS index was built with: chosen or given, kept in the artefact, and enough to build it again."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from vizsla.errors import InputError, check_range

LEAN = 0.3
"""How much of its item a past query's vector takes on where nothing is chosen, and where choosing begins."""


@dataclass(frozen=True)
class XsSettings:
    """The numbers of Eq. 8 and of the two additions to it.

    Parameters
    ----------
    weight : float
        λ: the base's share of the score of an item with clicks.
    scale, shift : float
        The click score s counts as ``scale · s + shift``; 1 and 0 are the paper's formula.
    below : float, optional
        The best past query speaks alone, this much below its similarity; None: it does not.
    lean : float
        The share of the item's own vector in a past query's vector.

    Examples
    --------
    >>> XsSettings(weight=0.5).calibrated, XsSettings(weight=0.5, below=0.2).best
    (False, True)
    """

    weight: float
    scale: float = 1.0
    shift: float = 0.0
    below: float | None = None
    lean: float = LEAN

    def __post_init__(self) -> None:
        check_range("weight", self.weight, 0, 1)
        check_range("lean", self.lean, 0, 1)
        if not (isfinite(self.scale) and self.scale >= 0 and isfinite(self.shift)):
            raise InputError(f"`scale` and `shift` must be finite numbers. Got {self.scale!r} and {self.shift!r}.")
        if self.below is not None and not isfinite(self.below):
            raise InputError(f"`below` must be a finite number. Got {self.below!r}.")

    @property
    def calibrated(self) -> bool:
        """Whether the click component is brought to the base's level."""
        return (self.scale, self.shift) != (1.0, 0.0)

    @property
    def best(self) -> bool:
        """Whether the best past query may speak alone."""
        return self.below is not None

    @property
    def extra(self) -> int:
        """How many constant dimensions the vectors have beyond the base's."""
        return int(self.best or (self.shift != 0 and self.weight < 1))

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as the artefact holds them."""
        return asdict(self)
