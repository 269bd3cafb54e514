"""What a PEFA-XL was built with: chosen or given, kept in the artefact, and enough to build it again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from vizsla.errors import InputError, check_choice
from vizsla.number_range import COUNT, FROM_0, NumberRange, check_numbers

AGGREGATES = ("mean", "max")

RANGES = {
    "weight": NumberRange(0, 1, above=True),
    "neighbours": COUNT,
    "near": NumberRange(high=1, below=True),
    "scale": FROM_0,
    "threshold": FROM_0,
}


@dataclass(frozen=True)
class XlSettings:
    """The numbers of Eq. 6.

    Parameters
    ----------
    weight : float
        λ, above 0: votes count (1 - λ) / λ times, which ranks like the paper's λ · base + (1 - λ) · votes.
    neighbours : int
        k: how many past queries vote.
    votes : {"mean", "max"}
        An item's votes are added up and divided by `neighbours` as in the paper, or only the strongest counts.
    near : float
        Similarity up to which a past query has no say; 0 in the paper.
    scale : float
        What a full vote is worth in the base's scores; 1 in the paper.
    threshold : float
        Votes at which an item with clicks keeps its base score: who gets fewer steps back, so that items without
        clicks compete fairly. 0 in the paper, where votes can only lift.
    """

    weight: float
    neighbours: int
    votes: str = "mean"
    near: float = 0.0
    scale: float = 1.0
    threshold: float = 0.0

    def __post_init__(self) -> None:
        check_numbers(self, RANGES)
        check_choice("votes", self.votes, AGGREGATES)

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """Read the numbers of an artefact."""
        try:
            return cls(**values)
        except TypeError as error:
            raise InputError(f"The settings must be those of PEFA-XL. Got others: {error}.") from error

    @property
    def worth(self) -> float:
        """What a vote of 1 adds to the base's score."""
        return (1 - self.weight) / self.weight * self.scale
