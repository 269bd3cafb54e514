"""TorchAdamW: AdamW over groups of a model's weights, given the gradients of its outputs, and trainings by it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vizsla._internal.lazy import import_extra
from vizsla.errors import InputError
from vizsla.learning.loop import Training, TrainingState
from vizsla.typing import Float32Array

MAX_GRADIENT_NORM = 1.0
WEIGHT_DECAY = 0.01


class TorchAdamW:
    """AdamW with a state that can be saved and restored.

    Parameters
    ----------
    groups : list of (name, weights)
        The trained parameters.
    rates : mapping of str to float
        The learning rate of each group.
    decay : float
        Weight decay.
    """

    def __init__(self, groups: list[tuple[str, list[Any]]], rates: Mapping[str, float], *, decay: float = WEIGHT_DECAY):
        self._torch: Any = import_extra("torch", "Training a model", "neural")
        self.rates = dict(rates)
        self.parameters = [each for _, group in groups for each in group]
        given = [{"params": group, "lr": self.rates[name]} for name, group in groups if group]
        self.names = [name for name, group in groups if group]
        self._optimizer = self._torch.optim.AdamW(given, weight_decay=decay)

    def step(self, moves: list[tuple[Any, Float32Array]], *, factor: float = 1.0) -> None:
        """Move against the gradients that outputs of the model have."""
        torch = self._torch
        self._optimizer.zero_grad()
        given = [torch.from_numpy(np.ascontiguousarray(gradient, np.float32)) for _, gradient in moves]
        outputs = [output for output, _ in moves]
        torch.autograd.backward(outputs, [one.to(output.device) for one, output in zip(given, outputs, strict=True)])
        self.apply(factor)

    def apply(self, factor: float = 1.0) -> None:
        """Move against the gradients that are there, clipped, and forget them."""
        self._torch.nn.utils.clip_grad_norm_(self.parameters, MAX_GRADIENT_NORM)
        for name, group in zip(self.names, self._optimizer.param_groups, strict=True):
            group["lr"] = factor * self.rates[name]
        self._optimizer.step()
        self._optimizer.zero_grad()

    def weights(self) -> dict[str, Float32Array]:
        """Return copies of the weights as flat arrays by name."""
        return {f"w{number}": _flat(weight).copy() for number, weight in enumerate(self.parameters)}

    def state(self) -> dict[str, Float32Array]:
        """Return weights and moments as flat arrays by name."""
        arrays = {}
        for number, weight in enumerate(self.parameters):
            arrays[f"w{number}"] = _flat(weight)
            for name, moment in self._optimizer.state.get(weight, {}).items():
                arrays[f"{name}_{number}"] = _flat(moment)
        return arrays

    def resume(self, arrays: Mapping[str, Float32Array]) -> None:
        """Take weights and moments from arrays that `state` returned."""
        for number, weight in enumerate(self.parameters):
            given = np.asarray(arrays.get(f"w{number}", np.zeros(0)))
            if given.size != weight.numel():
                raise InputError("The checkpoint must be of this model. Got another's: remove it to begin anew.")
            weight.data.copy_(self._torch.tensor(given).reshape(weight.shape))
            moments = {name.rsplit("_", 1)[0]: name for name in arrays if name.endswith(f"_{number}")}
            if moments:
                self._optimizer.state[weight] = {key: self._moment(arrays[n], weight) for key, n in moments.items()}

    def _moment(self, array: Float32Array, weight: Any) -> Any:
        shape = () if array.size == 1 and weight.numel() != 1 else weight.shape if array.size == weight.numel() else ()
        return self._torch.tensor(np.array(array)).reshape(shape)


def _flat(tensor: Any) -> Float32Array:
    return np.ascontiguousarray(tensor.detach().cpu().numpy(), np.float32).reshape(-1)


class TorchTraining(Training):
    """A training whose parameters and moments are those of one TorchAdamW.

    Parameters
    ----------
    settings : object
        With `seed`, `epochs`, `batch` and perhaps `max_steps`.
    examples : int
        How many examples an epoch goes through.
    optimizer : TorchAdamW
        The optimizer of all trained weights.
    """

    def __init__(self, settings: Any, examples: int, optimizer: TorchAdamW):
        super().__init__(settings, examples)
        self.optimizer = optimizer

    def state(self) -> dict[str, Float32Array]:
        """Return weights and moments."""
        return self.optimizer.state()

    def resume(self, state: TrainingState) -> None:
        """Take weights and moments of a checkpoint."""
        self.optimizer.resume(state.arrays)
        self.steps_done = state.steps

    def weights(self) -> dict[str, Float32Array]:
        """Return the trained weights."""
        return self.optimizer.weights()

    def set_weights(self, weights: Mapping[str, Float32Array]) -> None:
        """Give the model these weights."""
        self.optimizer.resume(weights)
