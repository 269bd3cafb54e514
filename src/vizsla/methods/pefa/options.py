"""What a PEFA retriever was built with, enough to build it again on other clicks."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla.core.validation import COUNT, FROM_0, SHARE, NumberRange, check_numbers
from vizsla.errors import InputError, check_choice
from vizsla.learning.clicks import WEIGHT_UNITS, ClickLog

if TYPE_CHECKING:
    from vizsla.core.strings import Strings
    from vizsla.data.dataset import Dataset

ITEM_WEIGHT = 0.3
"""How much of its item a past query's vector takes on where nothing is chosen, and where choosing begins."""

MAX_VECTOR_LENGTH = 1000

XS_RANGES = {
    "weight": SHARE,
    "item_weight": SHARE,
    "scale": FROM_0,
    "shift": NumberRange(),
    "length": NumberRange(0, MAX_VECTOR_LENGTH, above=True, optional=True),
    "margin": NumberRange(optional=True),
}


@dataclass(frozen=True)
class XsSettings:
    """Settings of Eq. 8 and of two extensions.

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
    paper : bool
        Eq. 8 to the letter: every click counts 1, and an item without clicks has λ times its base score.

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
    paper: bool = False

    def __post_init__(self) -> None:
        check_numbers(self, XS_RANGES)
        if self.paper and (self.calibrated or self.best or self.length is not None):
            raise InputError("`paper` must be alone: no scale, shift, margin or length. Got one of them.")

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """Read the result of `to_dict`."""
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
        """Return the numbers as the artifact holds them; `paper` only where it is set."""
        return {name: value for name, value in asdict(self).items() if name != "paper" or value}


AGGREGATES = ("mean", "max")

XL_RANGES = {
    "weight": SHARE,
    "neighbors": COUNT,
    "near": NumberRange(high=1, below=True),
    "scale": FROM_0,
    "threshold": FROM_0,
}


@dataclass(frozen=True)
class XlSettings:
    """Settings of Eq. 6.

    Parameters
    ----------
    weight : float
        λ: votes count (1 - λ) / λ times, which ranks like the paper's λ · base + (1 - λ) · votes; 0 with `paper` only.
    neighbors : int
        k: how many past queries vote.
    votes : {"mean", "max"}
        An item's votes are added up and divided by `neighbors` as in the paper, or only the strongest counts.
    near : float
        Similarity up to which a past query does not vote; 0 in the paper.
    scale : float
        Scale of a full vote in the base's scores; 1 in the paper.
    threshold : float
        Votes at which an item with clicks keeps its base score: one with fewer steps back, so that items without
        clicks compete fairly. 0 in the paper.
    paper : bool
        Eq. 6 to the letter: every click counts 1, a past query with a negative similarity votes against its items,
        and scores are λ · base + (1 - λ) · votes.
    """

    weight: float
    neighbors: int
    votes: str = "mean"
    near: float = 0.0
    scale: float = 1.0
    threshold: float = 0.0
    paper: bool = False

    def __post_init__(self) -> None:
        check_numbers(self, XL_RANGES)
        check_choice("votes", self.votes, AGGREGATES)
        if self.paper and (self.votes, self.near, self.scale, self.threshold) != ("mean", 0, 1, 0):
            raise InputError("`paper` must be alone: mean votes, no near, scale or threshold. Got one of them.")
        if self.weight == 0 and not self.paper:
            raise InputError("`weight` must be above 0 without `paper`. Got 0.")

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """Read the numbers of an artifact."""
        try:
            return cls(**values)
        except TypeError as error:
            raise InputError(f"The settings must be those of PEFA-XL. Got others: {error}.") from error

    @property
    def base_share(self) -> float:
        """What the base's score counts."""
        return self.weight if self.paper else 1.0

    @property
    def worth(self) -> float:
        """What a vote of 1 adds to the base's score."""
        return 1 - self.weight if self.paper else (1 - self.weight) / self.weight * self.scale

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as the artifact holds them; `paper` only where it is set."""
        return {name: value for name, value in asdict(self).items() if name != "paper" or value}


def clicks_not_in(log: ClickLog, items: Strings, dataset: Dataset) -> list[tuple[str, str, float]]:
    """Return the log's clicks that the dataset does not have: pairs of text and item, with the weight that it lacks.

    Where clicks decay, weights are of another time, and only pairs that the dataset does not have at all are returned.

    Examples
    --------
    >>> from vizsla.data.dataset import Dataset
    >>> from vizsla.core.strings import Strings
    >>> fruit = Strings.of(["f", "p"])
    >>> log = ClickLog.of([("red", "f"), ("green", "p", 2.0)], fruit, lambda texts: [[1.0]] * len(texts))
    >>> clicks_not_in(log, fruit, Dataset.of({"f": "fig", "p": "pear"}, clicks=[("red", "f")]))
    [('green', 'p', 2.0)]
    """
    clicks = dataset.clicks.tocsr()
    texts = log.queries.find_all(dataset.query_texts()[1])
    numbers = items.find_all(dataset.item_ids)[clicks.indices]
    rows = np.repeat(texts, np.diff(clicks.indptr))
    there = (rows >= 0) & (numbers >= 0)
    pairs, known = log.rows * log.width + log.items, rows[there] * log.width + numbers[there]
    units = np.where(np.isin(pairs, known), 0, log.units)
    if log.half_life is None:
        order = np.argsort(pairs)
        kept = np.zeros(len(pairs), np.int64)
        places = order[np.minimum(np.searchsorted(pairs, known, sorter=order), max(len(pairs) - 1, 0))]
        own = pairs[places] == known
        np.add.at(
            kept, places[own], np.rint(clicks.data[there][own].astype(np.float64) * WEIGHT_UNITS).astype(np.int64)
        )
        units = np.maximum(log.units - kept, 0)
    lost = units > 0
    names, weights = items.take(log.items[lost]), (units[lost] / WEIGHT_UNITS).tolist()
    return list(zip(log.take_queries(log.rows[lost]), names, weights, strict=True))
