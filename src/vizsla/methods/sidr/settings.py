"""SidrSettings: how SiDR's encoder is trained."""

from __future__ import annotations

from dataclasses import dataclass

from vizsla.errors import InputError, check_positive, check_range


@dataclass(frozen=True)
class SidrSettings:
    """How SiDR's encoder is trained.

    Parameters
    ----------
    epochs : int
        How often to go through the clicks.
    most_steps : int, optional
        Stop after so many steps, whatever the epochs say; the rates fall towards this end.
    batch : int
        Queries of a step.
    vectors : int
        For how many of them the clicked item, and one wrong item, go through the transformer too: the losses that
        compare with learned items. Items are long, so these cost more than the queries.
    tokens : int
        How many tokens a text's vector keeps (the paper's k).
    retrieved : int
        How many items beta search finds for each query at each step, to be told from the clicked one (the paper's m);
        0 leaves the batch's own items alone.
    semi_parametric : bool
        Whether the losses against plain bags are there; without them beta search is not trained for.
    rate, head_rate, bias_rate : float
        AdamW's steps for the transformer, for the head's matrix, and for its biases and scales.
    warm_up : float
        The share of steps over which the rates rise.
    dropout : float
        The share of activations left out.
    frozen_layers : int
        How many of the lowest layers stay as they are.
    table_epochs : int
        How long the table of token weights is learned that the transformer adds to; 0 for none.
    folds : int
        In how many parts clicks are split for it: a query meets the table of the other parts' clicks, as new ones do.
    masked_steps : int
        Steps of masked-language-model training on the items, for a checkpoint without a head.
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
    most_steps: int | None = None
    batch: int = 64
    vectors: int = 16
    tokens: int = 768
    retrieved: int = 20
    semi_parametric: bool = True
    rate: float = 5e-5
    head_rate: float = 2e-4
    bias_rate: float = 2e-3
    warm_up: float = 0.05
    dropout: float = 0.0
    frozen_layers: int = 0
    table_epochs: int = 3
    folds: int = 3
    masked_steps: int = 0
    teacher_share: float = 1.0
    max_tokens: int = 128
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "vectors", "tokens", "max_tokens"):
            check_positive(name, getattr(self, name))
        if self.most_steps is not None:
            check_positive("most_steps", self.most_steps)
        for name in ("retrieved", "frozen_layers", "table_epochs", "masked_steps"):
            if getattr(self, name) < 0:
                raise InputError(f"`{name}` must not be negative. Got {getattr(self, name)!r}.")
        for name in ("rate", "head_rate", "bias_rate", "teacher_share"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise InputError(f"`{name}` must be a number of at least 0. Got {getattr(self, name)!r}.")
        check_range("warm_up", self.warm_up, 0, 1)
        check_range("dropout", self.dropout, 0, 0.99)
        if self.folds < 2:
            raise InputError(f"`folds` must be at least 2. Got {self.folds!r}.")
        if self.max_tokens < 3:
            raise InputError(f"`max_tokens` must be at least 3. Got {self.max_tokens!r}.")
