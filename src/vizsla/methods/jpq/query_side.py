"""What learns on the query side: a matrix on the encoder's vectors. A transformer is in `query_model.py`."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from vizsla.encoder import Encoder
from vizsla.encoders.adapted import AdaptedEncoder
from vizsla.indexes.pq import PqIndex
from vizsla.methods.jpq.lessons import Lessons
from vizsla.methods.jpq.settings import JpqSettings
from vizsla.methods.jpq.training import JpqTraining
from vizsla.training.code_scores import Floats


class QuerySide(Protocol):
    """What a run trains beside the centroids."""

    def training(self, index: PqIndex, lessons: Lessons, settings: JpqSettings, vectors: Floats | None) -> JpqTraining:
        """Return a training that begins with the encoder as it is."""

    def trained(self, base: Encoder, learned: Any) -> Encoder:
        """Return the encoder that was trained, of what `JpqTraining.query_side` gave."""


def holding_back(encoder: Encoder, weight: float) -> AdaptedEncoder:
    """Return an encoder with one dimension more, that of marked items, where every query holds the same weight."""
    dim = encoder.dim + 1
    constant = np.zeros(dim, np.float32)
    constant[-1] = weight
    if isinstance(encoder, AdaptedEncoder):
        return AdaptedEncoder(encoder.base, np.pad(encoder.adapter, ((0, 1), (0, 0))), constant)
    return AdaptedEncoder(encoder, np.eye(dim, encoder.dim, dtype=np.float32), constant)


class Adapter:
    """A matrix that begins as the identity: the encoder may be a black box, and nothing needs torch."""

    def training(self, index: PqIndex, lessons: Lessons, settings: JpqSettings, vectors: Floats | None) -> JpqTraining:
        """Return a training of adapter and centroids."""
        return JpqTraining(index, lessons.rows, settings, vectors=vectors, **lessons.labels)

    def trained(self, base: Encoder, learned: Any) -> Encoder:
        """Return the base with an adapter."""
        return AdaptedEncoder(base, learned)
