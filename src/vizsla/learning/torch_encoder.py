"""TorchQueryEncoder: a transformer whose query side learns, given the gradient of its vectors (extra `neural`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.lazy import import_extra
from vizsla.encoders.sentence import SentenceEncoder
from vizsla.errors import InputError, check_range
from vizsla.io.atomic import writing_folder
from vizsla.learning.loop import TrainingState
from vizsla.typing import Float32Array

TEXTS_PER_BATCH = 128
QUERIES_PER_PASS = 16
"""Queries of a step that go through the model together."""
ADAM_MOMENTS = {"mean": "exp_avg", "square": "exp_avg_sq"}
"""What AdamW remembers of every weight: our names and torch's."""


class TorchQueryEncoder:
    """A copy of a sentence-transformers model, trained by AdamW; the caller computes the gradient of the loss.

    Parameters
    ----------
    encoder : SentenceEncoder
        The encoder to copy; it is not changed.
    rate : float
        The learning rate.
    seed : int
        Fixes dropout, step by step: what a step draws does not depend on those before it.
    device : str, optional
        Where to train, such as "cuda"; where the encoder is, unless given.
    """

    def __init__(self, encoder: SentenceEncoder, *, rate: float, seed: int = 0, device: str | None = None):
        if not isinstance(encoder, SentenceEncoder):
            raise InputError(f"`encoder` must be a SentenceEncoder to be trained. Got {type(encoder).__name__}.")
        check_range("rate", rate, 0, 1)
        self._torch = import_extra("torch", "Training a query encoder", "neural")
        self.encoder, self.rate, self.seed, self.steps = encoder, rate, seed, 0
        self.model = self._copied(encoder, device)
        self._weights = [weight for weight in self.model.parameters() if weight.requires_grad]
        self._optimizer = self._torch.optim.AdamW(self._weights, lr=rate, weight_decay=0.0)
        self._pieces: list[tuple[NDArray[np.int64], Any]] = []

    def rows(self, texts: Sequence[str]) -> Float32Array:
        """Encode queries, and remember how, so that `step` can follow."""
        self.model.train()
        with self._torch.random.fork_rng():
            self._torch.manual_seed(self.seed * 1_000_003 + self.steps)
            self._pieces = list(self._encoded(texts, QUERIES_PER_PASS))
        return self._joined(self._pieces, len(texts))

    def encoded(self, texts: Sequence[str]) -> Float32Array:
        """Encode queries with the model as it is, to look at it: without dropout, and nothing is remembered."""
        self.model.eval()
        with self._torch.no_grad():
            return self._joined(self._encoded(texts, TEXTS_PER_BATCH), len(texts))

    def step(self, by_row: Float32Array, *, factor: float = 1.0, clip: float = 1.0) -> None:
        """Move against the gradient, given by the rows that were encoded last."""
        self._optimizer.zero_grad()
        for numbers, found in self._pieces:
            found.backward(self._torch.from_numpy(np.ascontiguousarray(by_row[numbers], np.float32)).to(found.device))
        self._torch.nn.utils.clip_grad_norm_(self._weights, clip)
        for group in self._optimizer.param_groups:
            group["lr"] = factor * self.rate
        self._optimizer.step()
        self.steps += 1

    def weights(self) -> list[Float32Array]:
        """Return a copy of what is trained."""
        return [_numbers(weight) for weight in self._weights]

    def take(self, weights: Sequence[Float32Array]) -> None:
        """Put a copy of weights back."""
        for weight, values in zip(self._weights, weights, strict=True):
            weight.data.copy_(self._torch.from_numpy(values))

    def state(self) -> dict[str, Float32Array]:
        """Return weights and moments, as a checkpoint holds them: flat, by number."""
        arrays = {f"weight_{number}": values.reshape(-1) for number, values in enumerate(self.weights())}
        for number, weight in enumerate(self._weights):
            for name, theirs in ADAM_MOMENTS.items():
                held = self._optimizer.state.get(weight, {}).get(theirs)
                arrays[f"{name}_{number}"] = _numbers(self._torch.zeros_like(weight) if held is None else held).ravel()
        return arrays

    def resume(self, state: TrainingState) -> None:
        """Go on from a checkpoint."""
        self.steps, shapes = state.steps, [tuple(weight.shape) for weight in self._weights]
        self.take([state.array(f"weight_{number}", shape) for number, shape in enumerate(shapes)])
        for number, weight in enumerate(self._weights):
            found = {theirs: state.array(f"{name}_{number}", shapes[number]) for name, theirs in ADAM_MOMENTS.items()}
            moments = {name: self._torch.from_numpy(values).to(weight.device) for name, values in found.items()}
            self._optimizer.state[weight] = {"step": self._torch.tensor(float(state.steps)), **moments}

    def save(self, folder: str | Path) -> SentenceEncoder:
        """Write the model to a new folder, whole or not at all, and return the encoder of it."""
        self.model.eval()
        with writing_folder(folder) as partial:
            self.model.save(str(partial), create_model_card=False)
        where = str(self.encoder.model.device)
        return SentenceEncoder(str(folder), download=False, device=where, **self.encoder.options)

    def _copied(self, encoder: SentenceEncoder, device: str | None) -> Any:
        copied = deepcopy(encoder.model)
        if device is None:
            return copied
        try:
            return copied.to(device)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"`device` must be one that torch can use here. Got {device!r}: {reason}") from error

    def _encoded(self, texts: Sequence[str], size: int) -> Iterator[tuple[NDArray[np.int64], Any]]:
        """Encode texts of about one length together, since filling up short ones is work for nothing."""
        order = np.argsort([len(text) for text in texts], kind="stable")
        for first in range(0, len(texts), size):
            numbers = order[first : first + size]
            yield numbers, self._forward([texts[number] for number in numbers.tolist()])

    def _joined(self, pieces: Iterable[tuple[NDArray[np.int64], Any]], count: int) -> Float32Array:
        found = np.zeros((count, self.encoder.dim), np.float32)
        for numbers, rows in pieces:
            found[numbers] = _numbers(rows)
        return found

    def _forward(self, texts: Sequence[str]) -> Any:
        prepared = getattr(self.model, "preprocess", None) or self.model.tokenize
        features = prepared([self.encoder.query_prompt + text for text in texts])
        device = self._weights[0].device
        features = {name: values.to(device) for name, values in features.items() if hasattr(values, "to")}
        found = self.model(features)["sentence_embedding"]
        return self._torch.nn.functional.normalize(found, dim=1) if self.encoder.normalize else found


def _numbers(tensor: Any) -> Float32Array:
    return np.array(tensor.detach().cpu().numpy(), np.float32)
