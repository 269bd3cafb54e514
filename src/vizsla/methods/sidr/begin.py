"""Where SiDR's training begins: the model before its first step, and the name of what is trained on what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from vizsla.errors import InputError
from vizsla.methods.bag.clicked import Clicked
from vizsla.methods.bag.model import Bag
from vizsla.methods.sidr.lessons import Lessons
from vizsla.methods.sidr.prepare import wordpiece_of
from vizsla.methods.sidr.settings import SidrSettings
from vizsla.training.centred import centre
from vizsla.training.masked_language import train_masked
from vizsla.training.vocabulary_model import VocabularyModel

ALONE, BESIDE_BAGS = 0.1, 0.025
"""Where the scale of items' values begins: a token that an item says weighs about as much as in a bag with norms; and
what ranked held-out clicks best beside bags, for values that had not learned to stand there."""
SAMPLE = 200
"""Queries and items from which the head's biases begin."""


def begun_model(bag: Bag, lessons: Lessons, folder: str | Path, settings: SidrSettings) -> VocabularyModel:
    """Return the model that learns; a head that the checkpoint lacks is made of its word embeddings."""
    model = VocabularyModel(
        folder, seed=settings.seed, dropout=settings.dropout, frozen_layers=settings.frozen_layers,
        item_scale=BESIDE_BAGS if settings.item_bags else ALONE,
    )  # fmt: skip
    _check(model, bag, settings)
    if model.has_head:
        return model
    if settings.masked_steps:
        mask = int(wordpiece_of(bag).vocabulary.find("[MASK]"))
        train_masked(model, lessons.items, lessons.held, mask, steps=settings.masked_steps, seed=settings.seed)
    if settings.levelled:
        rng = np.random.default_rng(settings.seed)
        centre(model, *(_drawn(rng, texts) for texts in (lessons.queries, lessons.items)))
    return model


def training_key(bag: Bag, clicked: Clicked, model: VocabularyModel, settings: SidrSettings) -> str:
    """Return what a checkpoint must share with a run that goes on from it."""
    clicks = clicked.clicks
    return repr((bag.encoder.fingerprint, clicks.shape, clicks.nnz, int(clicks.indices.sum()), model.name, settings))


def _check(model: VocabularyModel, bag: Bag, settings: SidrSettings) -> None:
    if model.tokens != bag.index.dim:
        raise InputError(
            f"`model` must have the bag's {bag.index.dim} tokens. Got {model.tokens}: build the bag with "
            "`analyser=vizsla.WordPiece.open(model)`."
        )
    if model.longest < settings.max_tokens:
        raise InputError(f"`max_tokens` must be at most the model's {model.longest}. Got {settings.max_tokens}.")


def _drawn(rng: np.random.Generator, texts: list[Any]) -> list[Any]:
    return [texts[number] for number in rng.permutation(len(texts))[:SAMPLE].tolist()]
