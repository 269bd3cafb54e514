"""Masked-language-model training: a head that was never trained learns to say which word stands behind a mask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vizsla.progress import progress
from vizsla.training.schedule import rate_factor
from vizsla.training.torch_adamw import TorchAdamW
from vizsla.training.vocabulary_model import Tokens, VocabularyModel

BATCH = 32
SHARE = 0.15
"""Of a text's tokens; four in five become [MASK], one in ten another token, one in ten stays (as BERT was trained)."""
RATES = {"body": 5e-5, "head": 2e-4, "rest": 2e-3}


def train_masked(
    model: VocabularyModel, texts: Sequence[Tokens], tokens: Tokens, mask: int, *, steps: int, seed: int = 0
) -> list[float]:
    """Teach the model with some texts, and return each step's loss; tokens that no text holds are never guessed.

    Parameters
    ----------
    model : VocabularyModel
        What learns.
    texts : sequence of int64 arrays
        Token ids between [CLS] and [SEP].
    tokens : int64 array
        The tokens among which to choose, ascending.
    mask : int
        The id of [MASK].
    steps : int
        How many batches of 32 texts.
    seed : int
        Fixes every draw.
    """
    optimiser = TorchAdamW(model.groups(), RATES)
    long = [number for number, text in enumerate(texts) if len(text) > 2]
    losses = []
    for step in progress(range(steps if long else 0), what="masked words"):
        model.begin_step(seed + step)
        rng = np.random.default_rng([seed, 2, step])
        chosen = [texts[long[number]] for number in rng.integers(0, len(long), BATCH)]
        losses.append(_loss(model, chosen, tokens, mask, rng))
        optimiser.apply(rate_factor(step, steps, warm_up=0.1))
    return losses


def _loss(model: VocabularyModel, texts: list[Tokens], tokens: Tokens, mask: int, rng: np.random.Generator) -> float:
    """Leave the gradients of a batch with the weights; return its loss."""
    hidden, places, wanted = [], [], []
    start = 0
    for text in texts:
        covered, at = _covered(text, tokens, mask, rng)
        hidden.append(covered)
        places.append(start + at)
        wanted.append(np.searchsorted(tokens, text[at]))
        start += len(text)
    where = np.concatenate(places)
    if not len(where):
        return 0.0
    loss: Any = model.guessing(hidden, where, tokens, np.concatenate(wanted))
    loss.backward()
    return float(loss.detach())


def _covered(text: Tokens, tokens: Tokens, mask: int, rng: np.random.Generator) -> tuple[Tokens, Tokens]:
    """Return the text with some tokens hidden, and where."""
    inside = 1 + np.flatnonzero(np.isin(text[1:-1], tokens))
    at = np.sort(rng.permutation(inside)[: max(1, round(SHARE * len(inside)))])
    kind, covered = rng.random(len(at)), text.copy()
    covered[at[kind < 0.8]] = mask
    others = at[(kind >= 0.8) & (kind < 0.9)]
    covered[others] = tokens[rng.integers(0, len(tokens), len(others))]
    return covered, at
