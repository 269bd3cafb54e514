"""JpqSettings: the numbers of joint training."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

from vizsla.core.validation import ABOVE_0, COUNT, COUNT_FROM_0, SHARE, NumberRange, check_numbers
from vizsla.errors import InputError, check_choice
from vizsla.learning.losses import LOSSES

STAGES = ("negatives", "loss", "centroids", "distillation")
"""The steps of section 5.3 of the paper, each with all before it; the last one is ours."""

PAPER_RATE = 5e-6
"""The paper's learning rate of a query encoder."""
PAPER_DECAY = 0.01
"""AdamW's usual decay; the paper names the optimizer alone."""

SETTING_RANGES = {
    **dict.fromkeys(("click_loss_weight", "adapter_rate", "centroid_rate", "decay", "warm_up"), SHARE),
    **dict.fromkeys(("epochs", "batch", "negatives", "depth"), COUNT),
    **dict.fromkeys(("sharpness", "clip"), ABOVE_0),
    **dict.fromkeys(("synthetic_queries", "clicked_margin"), NumberRange(0, 16)),
    **dict.fromkeys(("reassignments", "seed"), COUNT_FROM_0),
}


@dataclass(frozen=True)
class JpqSettings:
    """How the adapter and the centroids are trained.

    Parameters
    ----------
    click_loss_weight : float
        Weight of the click loss; the rest is distillation. 0 needs no clicks, 1 no teacher.
    epochs : int
        Passes over the queries that the schedule plans for.
    stop : int, optional
        Stop after this number of epochs; after all unless given.
    loss : {"softmax", "lambdarank", "ranknet", "hinge"}
        The click loss.
    stage : {"negatives", "loss", "centroids", "distillation"}
        Which parts of the method are used, for ablations. "negatives" trains the adapter on the scores of uncompressed
        vectors, with the negatives that the codes find; "loss" on the codes' own scores; "centroids" trains those too.
    batch : int
        Queries per step.
    negatives : int
        Best irrelevant items per query, searched at every step with the current model.
    depth : int
        Best items of the teacher, and of the student, whose score distributions are distilled.
    adapter_rate : float
        Learning rate of the query side.
    centroid_rate : float
        Learning rate of the centroids.
    sharpness : float
        Scale of the scores in the losses, in typical spreads: larger values concentrate on the top.
    synthetic_queries : float
        Synthetic queries for random items per real query of a step; see `SyntheticQueries`.
    clicked_margin : float
        Margin that items with clicks must win by, in typical spreads of a query's best scores: clicks teach much about
        them, and nothing about the others. Above 0, one bit of an item's codes says whether it has clicks.
    reassignments : int
        After how many epochs, from the first on, the codes of clicked items are reassigned; see `recoded`. 0:
        codes are fixed, as in the paper. Items without clicks always keep theirs, and new ones are coded alike.
    decay : float
        Weight decay towards the initial values.
    warm_up : float
        The share of the steps over which the rates rise.
    clip : float
        Maximum norm of the gradient.
    paper : bool
        The paper's arithmetic: losses of raw scores, summed over a query's relevant items regardless of their
        weights (Eq. 21); LambdaRank by nDCG with the ranks of all listed items; constant rates, AdamW's decay
        towards 0, gradients and query vectors of any length. `sharpness`, `warm_up` and `clip` are then ignored.
    seed : int
        The order of the queries.

    Examples
    --------
    >>> JpqSettings(click_loss_weight=0.5).trains_centroids, JpqSettings(stage="loss").trains_centroids
    (True, False)
    """

    click_loss_weight: float = 0.5
    epochs: int = 3
    stop: int | None = None
    loss: str = "softmax"
    stage: str = "distillation"
    batch: int = 128
    negatives: int = 100
    depth: int = 50
    adapter_rate: float = 3e-4
    centroid_rate: float = 2e-3
    sharpness: float = 1.0
    synthetic_queries: float = 1.0
    clicked_margin: float = 0.0
    reassignments: int = 0
    decay: float = 0.0
    warm_up: float = 0.1
    clip: float = 10.0
    paper: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_numbers(self, SETTING_RANGES)
        NumberRange(0, self.epochs, whole=True, optional=True).check("stop", self.stop)
        check_choice("loss", self.loss, list(LOSSES))
        check_choice("stage", self.stage, list(STAGES))
        if self.reassignments and self.stage == "negatives":
            raise InputError(f'`reassignments` must be 0 at the stage "negatives". Got {self.reassignments}.')

    @classmethod
    def of_paper(cls, subspaces: int, **others: Any) -> Self:
        """Return the paper's settings for a number of sub-spaces: batch, negatives, loss, rates (section 4.3).

        They were chosen for a transformer and half a million queries; a matrix and a small log need larger rates.

        Examples
        --------
        >>> JpqSettings.of_paper(48).centroid_rate, JpqSettings.of_paper(16).centroid_rate
        (0.0001, 5e-06)
        """
        return cls(**{**paper_numbers(subspaces), **others})

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """Read the result of `to_dict`."""
        try:
            return cls(**values)
        except TypeError as error:
            raise InputError(f"The settings must be those of JPQ. Got others: {error}.") from error

    @property
    def trains_centroids(self) -> bool:
        """Whether the centroids change."""
        return self.stage in ("centroids", "distillation") and self.centroid_rate > 0

    @property
    def stage_click_loss_weight(self) -> float:
        """The click loss's share at this stage: all of it before distillation comes in."""
        return self.click_loss_weight if self.stage == "distillation" else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as the artifact stores them."""
        return asdict(self)


def paper_numbers(subspaces: int) -> dict[str, Any]:
    """Return the settings of the paper's section 4.3 for a number of sub-spaces."""
    centroid_rate = 5e-6 if subspaces < 32 else 2e-5 if subspaces < 48 else 1e-4
    numbers = {"loss": "lambdarank", "stage": "centroids", "batch": 32, "negatives": 200, "synthetic_queries": 0.0}
    return {**numbers, "adapter_rate": PAPER_RATE, "centroid_rate": centroid_rate, "decay": PAPER_DECAY, "paper": True}
