"""Where a vocabulary head begins: no token stands out unless a text makes it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vizsla.training.vocabulary_model import Tokens, VocabularyModel

LEVEL = -2.0
"""A token's highest value in a text that says nothing about it, before elu1p."""
PART = 50


def centre(model: VocabularyModel, *samples: Sequence[Tokens], level: float = LEVEL) -> None:
    """Set the head's biases so that every token has this level in the mean over the samples, each counting alike.

    A head tied to word embeddings gives common words high values in every text; so beta search would rank by them.
    """
    means = [
        np.mean([_highest(model, sample[at : at + PART]) for at in range(0, len(sample), PART)], axis=0)
        for sample in samples
    ]
    torch = model._torch
    with torch.no_grad():
        model.bias += level - torch.from_numpy(np.mean(means, axis=0).astype(np.float32))


def _highest(model: VocabularyModel, texts: Sequence[Tokens]) -> np.ndarray:
    with model.no_gradients():
        encoding = model.encode(texts)
        return model.highest(encoding, np.arange(model.tokens)).mean(dim=0).numpy()
