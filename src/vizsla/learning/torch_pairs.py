"""PairLearner: a cross-encoder on its way, given the gradient of its scores (extra `neural`)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np

from vizsla.errors import InputError
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
        self.model, self.rate, self.bfloat16 = model, rate, bfloat16
        self._torch = model.torch
        self.weights = [weight for weight in model.model.parameters() if weight.requires_grad]
        self._optimizer = self._torch.optim.AdamW(self.weights, lr=rate, weight_decay=decay)
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

    def step(self, by_score: Any, *, factor: float = 1.0, clip: float = 1.0) -> None:
        """Move against the gradient, given by the scores that were computed last."""
        self._optimizer.zero_grad()
        gradient = self._torch.from_numpy(np.ascontiguousarray(by_score, np.float32))
        self._scores.backward(gradient.to(self._scores.device))
        self._torch.nn.utils.clip_grad_norm_(self.weights, clip)
        for group in self._optimizer.param_groups:
            group["lr"] = factor * self.rate
        self._optimizer.step()

    def copied(self) -> list[Float32Array]:
        """Return the weights as they are now."""
        return [weight.detach().cpu().numpy().copy() for weight in self.weights]

    def set_weights(self, values: list[Float32Array]) -> None:
        """Take other weights."""
        with self._torch.no_grad():
            for weight, value in zip(self.weights, values, strict=True):
                weight.copy_(self._torch.from_numpy(np.array(value).reshape(tuple(weight.shape))))

    def state(self) -> dict[str, Float32Array]:
        """Return weights and moments, each laid out flat."""
        arrays = {f"weight{at}": value.reshape(-1) for at, value in enumerate(self.copied())}
        for at, weight in enumerate(self.weights):
            for name, kept in (("first", "exp_avg"), ("second", "exp_avg_sq")):
                # A weight that no score depends on, such as an unused pooler's, never moved.
                moment = self._optimizer.state[weight].get(kept, self._torch.zeros_like(weight))
                arrays[f"{name}{at}"] = moment.detach().cpu().numpy().reshape(-1).copy()
        return arrays

    def resume(self, steps: int, arrays: Mapping[str, Float32Array]) -> None:
        """Go on from a state after so many steps."""
        shapes = [tuple(weight.shape) for weight in self.weights]
        wanted = {f"{name}{at}" for name in ("weight", "first", "second") for at in range(len(shapes))}
        if not wanted <= set(arrays):
            raise InputError("`checkpoint` must be of this model. Got another: remove it.")
        self.set_weights([arrays[f"weight{at}"] for at in range(len(shapes))])
        for at, weight in enumerate(self.weights):
            self._optimizer.state[weight] = {
                "step": self._torch.tensor(float(steps)),
                "exp_avg": self._moment(arrays[f"first{at}"], weight),
                "exp_avg_sq": self._moment(arrays[f"second{at}"], weight),
            }

    def _moment(self, values: Float32Array, weight: Any) -> Any:
        return self._torch.from_numpy(np.array(values).reshape(tuple(weight.shape))).to(weight.device)

    def _cast(self) -> Any:
        device = self.weights[0].device.type
        return self._torch.autocast(device, dtype=self._torch.bfloat16) if self.bfloat16 else nullcontext()
