"""TorchQueryEncoder: a transformer whose query side learns, given the gradient of its vectors (extra `neural`)."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

from vizsla.encoders.sentence import SentenceEncoder
from vizsla.errors import InputError
from vizsla.extra import import_extra
from vizsla.training.code_scores import Floats


class TorchQueryEncoder:
    """A copy of a sentence-transformers model, trained by AdamW; the loss's gradient comes from outside.

    Parameters
    ----------
    encoder : SentenceEncoder
        What is copied; it stays as it is.
    rate : float
        The learning rate.
    seed : int
        Fixes dropout.
    """

    def __init__(self, encoder: SentenceEncoder, *, rate: float, seed: int = 0):
        if not isinstance(encoder, SentenceEncoder):
            raise InputError(f"`encoder` must be a SentenceEncoder to be trained. Got {type(encoder).__name__}.")
        self._torch = import_extra("torch", "Training a query encoder", "neural")
        self._torch.manual_seed(seed)
        self.encoder, self.model = encoder, deepcopy(encoder.model)
        self.model.train()
        self.rate = rate
        self._optimiser = self._torch.optim.AdamW(self.model.parameters(), lr=rate)
        self._rows: Any = None

    def rows(self, texts: Sequence[str]) -> Floats:
        """Encode queries, and remember how, so that `step` can follow."""
        features = self.model.tokenize([self.encoder.query_prompt + text for text in texts])
        device = next(self.model.parameters()).device
        features = {name: values.to(device) for name, values in features.items() if hasattr(values, "to")}
        self._rows = self.model(features)["sentence_embedding"]
        if self.encoder.normalise:
            self._rows = self._torch.nn.functional.normalize(self._rows, dim=1)
        return np.ascontiguousarray(self._rows.detach().cpu().numpy(), np.float32)

    def step(self, by_row: Floats, *, factor: float = 1.0, clip: float = 1.0) -> None:
        """Move against the gradient, given by the rows that were encoded last."""
        self._optimiser.zero_grad()
        self._rows.backward(self._torch.from_numpy(np.ascontiguousarray(by_row, np.float32)).to(self._rows.device))
        self._torch.nn.utils.clip_grad_norm_(self.model.parameters(), clip)
        for group in self._optimiser.param_groups:
            group["lr"] = factor * self.rate
        self._optimiser.step()

    def save(self, folder: str | Path) -> SentenceEncoder:
        """Write the model to a folder, and return the encoder of it."""
        self.model.eval()
        self.model.save(str(folder), create_model_card=False)
        return SentenceEncoder(str(folder), download=False, **self.encoder.options)
