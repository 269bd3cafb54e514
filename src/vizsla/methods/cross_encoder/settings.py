"""CrossEncoderSettings: the numbers of a cross-encoder's training."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from vizsla.errors import check_choice
from vizsla.number_range import COUNT, COUNT_FROM_0, COUNT_OR_NONE, SHARE, check_numbers
from vizsla.training.losses import LOSSES

RANGES = {
    **dict.fromkeys(("epochs", "batch", "negatives", "depth", "every", "patience", "held_out"), COUNT),
    **dict.fromkeys(("share", "rate", "decay", "warm_up", "cold"), SHARE),
    "most_steps": COUNT_OR_NONE,
    "seed": COUNT_FROM_0,
}


@dataclass(frozen=True)
class CrossEncoderSettings:
    """How a cross-encoder is trained.

    Parameters
    ----------
    epochs : int
        Passes over the queries that the schedule plans for.
    most_steps : int, optional
        Plan for at most so many steps.
    batch : int
        Queries a step.
    negatives : int
        Hard negatives for each query of a step, drawn from the retriever's best `depth`.
    depth : int
        How far down the retriever's answers negatives, and held-out candidates, are taken from.
    loss : {"softmax", "lambdarank", "ranknet", "hinge"}
        What clicks are learned by; "softmax" is the cross-entropy of the clicked item among the negatives.
    share : float
        The click loss's share; the rest is distillation from a teacher.
    rate : float
        The learning rate.
    decay : float
        AdamW's weight decay.
    warm_up : float
        The share of the steps over which the rate rises.
    every : int
        Steps between two looks at the held-out queries.
    patience : int
        End after so many looks without a better one.
    held_out : int
        How many queries are held out at most.
    cold : float
        The share of them about items without another click.
    bfloat16 : bool
        Compute the layers in bfloat16, which some CPUs do several times as fast; weights stay float32.
    seed : int
        The order of the queries, negatives, dropout.

    Examples
    --------
    >>> CrossEncoderSettings(epochs=2).negatives
    7
    """

    epochs: int = 1
    most_steps: int | None = None
    batch: int = 16
    negatives: int = 7
    depth: int = 50
    loss: str = "softmax"
    share: float = 1.0
    rate: float = 5e-5
    decay: float = 0.01
    warm_up: float = 0.1
    every: int = 100
    patience: int = 5
    held_out: int = 100
    cold: float = 0.5
    bfloat16: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("loss", self.loss, list(LOSSES))
        check_numbers(self, RANGES)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return asdict(self)
