"""What a PEFA-XS index was built with: chosen or given, kept in the artefact, and enough to build it again."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

from vizsla.errors import InputError
from vizsla.number_range import FROM_0, SHARE, NumberRange, check_numbers

ITEM_WEIGHT = 0.3
"""How much of its item a past query's vector takes on where nothing is chosen, and where choosing begins."""

LONGEST = 1000

RANGES = {
    "weight": SHARE,
    "item_weight": SHARE,
    "scale": FROM_0,
    "shift": NumberRange(),
    "length": NumberRange(0, LONGEST, above=True, optional=True),
    "margin": NumberRange(optional=True),
}


@dataclass(frozen=True)
class XsSettings:
    """The numbers of Eq. 8 and of the two additions to it.

    Parameters
    ----------
    weight : float
        λ: the base's share of the score of an item with clicks.
    scale, shift : float
        The click score s counts as ``scale · s + shift``; 1 and 0 are the paper's formula.
    margin : float, optional
        The best past query may score its item alone, by its similarity minus this margin; None: it may not.
    item_weight : float
        The share of the item's own vector in a past query's vector.
    length : float, optional
        The length that the blended row of an item with clicks gets, over sparse rows; None: the one it has.

    Examples
    --------
    >>> XsSettings(weight=0.5).calibrated, XsSettings(weight=0.5, margin=0.2).best
    (False, True)
    """

    weight: float
    scale: float = 1.0
    shift: float = 0.0
    margin: float | None = None
    item_weight: float = ITEM_WEIGHT
    length: float | None = None

    def __post_init__(self) -> None:
        check_numbers(self, RANGES)

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """Read what `to_dict` gave."""
        try:
            return cls(**values)
        except TypeError as error:
            raise InputError(f"The settings must be those of PEFA-XS. Got others: {error}.") from error

    @property
    def calibrated(self) -> bool:
        """Whether the kNN component is brought to the base's mean and spread."""
        return (self.scale, self.shift) != (1.0, 0.0)

    @property
    def best(self) -> bool:
        """Whether the best past query may score its item alone."""
        return self.margin is not None

    @property
    def moves(self) -> bool:
        """Whether clicks change any score; if not, it is the base."""
        return self.weight < 1 or self.best

    @property
    def extra(self) -> int:
        """How many constant dimensions the vectors have beyond the base's."""
        return int(self.best or (self.shift != 0 and self.weight < 1))

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as the artefact holds them."""
        return asdict(self)
