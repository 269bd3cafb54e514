"""SidrSettings: how SiDR's encoder is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vizsla.core.validation import COUNT, COUNT_FROM_0, COUNT_OR_NONE, FROM_0, SHARE, NumberRange, check_numbers
from vizsla.errors import InputError

SETTING_RANGES = {
    **dict.fromkeys(("epochs", "batch", "vectors", "negatives", "tokens", "served_epochs"), COUNT),
    **dict.fromkeys(("retrieved", "frozen_layers", "table_epochs", "masked_steps", "seed"), COUNT_FROM_0),
    **dict.fromkeys(("rate", "head_rate", "bias_rate", "teacher_share"), FROM_0),
    "max_steps": COUNT_OR_NONE,
    "warm_up": SHARE,
    "dropout": NumberRange(0, 0.99),
    "folds": NumberRange(2, whole=True),
    "max_tokens": NumberRange(3, whole=True),
}


@dataclass(frozen=True)
class SidrSettings:
    """How SiDR's encoder is trained.

    Parameters
    ----------
    epochs : int
        Passes over the clicks.
    max_steps : int, optional
        Maximum number of steps, regardless of `epochs`; the rates decay towards this end.
    batch : int
        Queries per step.
    vectors : int
        For how many of them the clicked item and some negatives are also encoded by the transformer: the losses that
        compare with learned items. Items are long, so these cost more than the queries.
    negatives : int
        How many of the retrieved negatives are encoded with each of them.
    item_tokens : bool
        Whether an item's vector is its token vector, as weighted by beta search, plus the transformer's output; without
        it the vector is the transformer's output alone, as in the paper.
    expand_items : bool
        Whether an item's vector may have tokens that its text lacks, in training and after it; without it
        `item_tokens` must be off, too.
    tokens : int
        Tokens kept per vector (the paper's k).
    retrieved : int
        How many items beta search retrieves per query and step as negatives (the paper's m);
        0 uses the items of the batch only.
    static_negatives : bool
        Retrieve these items once with BM25 before training, instead of with beta search at each step.
    semi_parametric : bool
        Whether to use the losses against plain token sets; without them beta search is not trained.
    whole_head : bool
        Whether learned items are compared over all tokens, as in the paper, or only over the tokens of the step's
        texts, which costs a fraction.
    rate : float
        AdamW's learning rate of the transformer.
    head_rate : float
        AdamW's learning rate of the head's matrix.
    bias_rate : float
        AdamW's learning rate of the head's biases and scales.
    warm_up : float
        The share of steps over which the rates rise.
    dropout : float
        The share of activations that are dropped.
    frozen_layers : int
        Number of lowest layers that are not trained.
    table_epochs : int
        Epochs of the token tables that the transformer adds to in training; 0 for none.
    served_epochs : int
        Epochs of the final table, which learns from all clicks.
    folds : int
        Number of folds of the clicks: a query is combined with the table of the other folds, as new queries are.
    masked_steps : int
        Steps of masked-language-model training on the items, for a checkpoint without a head.
    center_bias : bool
        Whether the biases of a new head are initialized so that no token dominates; without it they start
        at 0.
    teacher_share : float
        Weight of the teacher's loss relative to the click loss, if a teacher is given.
    max_tokens : int
        Maximum number of tokens per text.
    seed : int
        Seed of all random numbers.
    paper : bool
        Compute as the paper does: items have no norm and values no scale that learns, a text keeps its best tokens of
        the whole vocabulary, and all three losses see the same passages, the drawn negatives included.

    Examples
    --------
    >>> SidrSettings(epochs=1).batch
    64
    """

    epochs: int = 3
    max_steps: int | None = None
    batch: int = 64
    vectors: int = 16
    negatives: int = 1
    item_tokens: bool = True
    expand_items: bool = True
    tokens: int = 768
    retrieved: int = 20
    static_negatives: bool = False
    semi_parametric: bool = True
    whole_head: bool = False
    rate: float = 5e-5
    head_rate: float = 2e-4
    bias_rate: float = 2e-3
    warm_up: float = 0.05
    dropout: float = 0.0
    frozen_layers: int = 0
    table_epochs: int = 3
    served_epochs: int = 6
    folds: int = 3
    masked_steps: int = 0
    center_bias: bool = True
    teacher_share: float = 1.0
    max_tokens: int = 128
    seed: int = 0
    paper: bool = False

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> SidrSettings:
        """Return settings by name; with `paper`, what is not given is as in the paper.

        Examples
        --------
        >>> SidrSettings.of({"paper": True, "epochs": 40}).batch
        128
        """
        return cls(**((PAPER if settings.get("paper") else {}) | dict(settings)))

    def __post_init__(self) -> None:
        check_numbers(self, SETTING_RANGES)
        if not self.expand_items and self.item_tokens:
            raise InputError("`expand_items=False` must go with `item_tokens=False`. Got True.")
        if self.paper and (self.item_tokens or not self.whole_head or self.vectors < self.batch):
            raise InputError(
                "`paper` must go with `item_tokens=False`, `whole_head=True` and `vectors` of at least `batch`. Got "
                f"{self.item_tokens}, {self.whole_head} and {self.vectors} for {self.batch}: leave them out."
            )


PAPER: dict[str, Any] = {
    "epochs": 80, "batch": 128, "vectors": 128, "negatives": 1, "item_tokens": False, "whole_head": True, "tokens": 768,
    "retrieved": 20, "rate": 2e-5, "head_rate": 2e-5, "bias_rate": 2e-5, "table_epochs": 0, "center_bias": False,
    "max_tokens": 256,
}  # fmt: skip
"""Section 4.1 of the paper: 80 epochs (40 for TriviaQA), batches of 128, rate 2e-5, 768 tokens kept, m = 20."""
