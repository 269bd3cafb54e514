"""Where a vocabulary head begins: no token stands out unless a text makes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from vizsla.training.vocabulary_model import Tokens, VocabularyModel

LEVEL = -2.0
"""A token's highest value in a text that says nothing about it, before elu1p."""
PART = 50


def centre(model: VocabularyModel, *samples: Sequence[Tokens], level: float = LEVEL) -> None:
    """Set the head's biases so that every token has this level in the mean over the samples, each counting alike.

    A head tied to word embeddings gives common words high values in every text; so beta search would rank by them.
    """
    means = [np.mean(list(_means(model, sample)), axis=0) for sample in samples]
    torch = model._torch
    with torch.no_grad():
        model.bias += level - torch.from_numpy(np.mean(means, axis=0).astype(np.float32))


def _means(model: VocabularyModel, texts: Sequence[Tokens]) -> Iterator[NDArray[np.float32]]:
    """Yield the mean highest value of every token, over some texts at a time."""
    for start in range(0, len(texts), PART):
        with model.no_gradients():
            encoding = model.encode(texts[start : start + PART])
            yield model.highest(encoding, np.arange(model.tokens)).mean(dim=0).numpy()
