"""PairLearner: a cross-encoder on its way, given the gradient of its scores (extra `neural`)."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

from vizsla.learning.torch_optimizers import TorchAdamW
from vizsla.scorers.pair_models import TorchPairModel
from vizsla.typing import Float32Array


class PairLearner:
    """A model that learns by AdamW; the loss and its gradient by the scores come from outside.

    Parameters
    ----------
    model : TorchPairModel
        What learns, in place.
    rate : float
        The learning rate.
    decay : float
        AdamW's weight decay.
    bfloat16 : bool
        Whether the layers compute in bfloat16; weights stay float32.
    """

    def __init__(self, model: TorchPairModel, *, rate: float, decay: float = 0.01, bfloat16: bool = False):
        self.model, self.bfloat16 = model, bfloat16
        self._torch = model.torch
        weights = [weight for weight in model.model.parameters() if weight.requires_grad]
        self.optimizer = TorchAdamW([("model", weights)], {"model": rate}, decay=decay)
        self._scores: Any = None

    def scores(self, queries: list[str], texts: list[str], *, seed: int) -> Float32Array:
        """Score pairs with dropout, and remember how, so that `step` can follow."""
        self.model.model.train()
        self._torch.manual_seed(seed)  # a resumed run drops what it would have dropped
        with self._cast():
            self._scores = self.model.forward(queries, texts).float()
        return np.asarray(self._scores.detach().cpu().numpy(), np.float32)

    def measured(self, queries: list[str], texts: list[str]) -> Float32Array:
        """Score pairs as the finished model would."""
        self.model.model.eval()
        with self._cast():
            return self.model.scores(queries, texts)

    def step(self, by_score: Float32Array, *, factor: float = 1.0) -> None:
        """Move against the gradient, given by the scores that were computed last."""
        self.optimizer.step([(self._scores, by_score)], factor=factor)

    def _cast(self) -> Any:
        device = self.optimizer.parameters[0].device.type
        return self._torch.autocast(device, dtype=self._torch.bfloat16) if self.bfloat16 else nullcontext()
