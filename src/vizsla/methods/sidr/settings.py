"""SidrSettings: how SiDR's encoder is trained."""

from __future__ import annotations

from dataclasses import dataclass

from vizsla.core.validation import COUNT, COUNT_FROM_0, COUNT_OR_NONE, FROM_0, SHARE, NumberRange, check_numbers

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
        How often to go through the clicks.
    max_steps : int, optional
        Stop after so many steps, whatever the epochs say; the rates fall towards this end.
    batch : int
        Queries of a step.
    vectors : int
        For how many of them the clicked item, and some wrong ones, go through the transformer too: the losses that
        compare with learned items. Items are long, so these cost more than the queries.
    negatives : int
        How many of the found items that are wrong go with each of them.
    item_tokens : bool
        Whether an item's vector begins at its base, as beta search weighs it, and the transformer adds to it; without
        it a vector is what the transformer says alone, as in the paper.
    tokens : int
        How many tokens a text's vector keeps (the paper's k).
    retrieved : int
        How many items beta search finds for each query at each step, to be told from the clicked one (the paper's m);
        0 leaves the batch's own items alone.
    static_negatives : bool
        Let BM25 find these items once, before training, in place of beta search at each step.
    semi_parametric : bool
        Whether the losses against plain token sets are there; without them beta search is not trained for.
    whole_head : bool
        Whether learned items are compared by all tokens, as in the paper, and not only by those that the step's texts
        hold, which costs a fraction.
    rate : float
        AdamW's step for the transformer.
    head_rate : float
        AdamW's step for the head's matrix.
    bias_rate : float
        AdamW's step for the head's biases and scales.
    warm_up : float
        The share of steps over which the rates rise.
    dropout : float
        The share of activations left out.
    frozen_layers : int
        How many of the lowest layers stay as they are.
    table_epochs : int
        How long the tables of token weights learn that the transformer adds to in training; 0 for none.
    served_epochs : int
        How long the table of all clicks learns that serves in the end, where there is one.
    folds : int
        In how many parts clicks are split for it: a query meets the table of the other parts' clicks, as new ones do.
    masked_steps : int
        Steps of masked-language-model training on the items, for a checkpoint without a head.
    center_bias : bool
        Whether the biases of a head that the checkpoint lacks begin where no token stands out; without it they begin
        at 0, as a plain head's do.
    teacher_share : float
        What imitating the teacher counts, next to the clicks, if one is given.
    max_tokens : int
        Texts are cut after so many.
    seed : int
        Fixes every draw.

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

    def __post_init__(self) -> None:
        check_numbers(self, SETTING_RANGES)
