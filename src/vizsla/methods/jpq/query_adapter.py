"""The query side that JPQ trains: a linear adapter, or a whole transformer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from vizsla.base.encoder import Encoder
from vizsla.core.validation import validate_init
from vizsla.encoders.adapted import AdaptedEncoder, TwoSidedEncoder
from vizsla.encoders.sentence import SentenceEncoder
from vizsla.errors import InputError, check_range
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.learning.torch_encoder import TorchQueryEncoder
from vizsla.methods.jpq.settings import JpqSettings
from vizsla.methods.jpq.trainer import JpqTraining, ModelTraining
from vizsla.methods.jpq.training_data import JpqTrainingData
from vizsla.typing import Float32Array


class QuerySide(Protocol):
    """What a run trains beside the centroids."""

    def training(
        self, index: PqIndex, training_data: JpqTrainingData, settings: JpqSettings, vectors: Float32Array | None
    ) -> JpqTraining:
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

    def training(
        self, index: PqIndex, training_data: JpqTrainingData, settings: JpqSettings, vectors: Float32Array | None
    ) -> JpqTraining:
        """Return a training of adapter and centroids."""
        return JpqTraining(index, training_data.rows, settings, vectors=vectors, **training_data.labels)

    def trained(self, base: Encoder, learned: Any) -> Encoder:
        """Return the base with an adapter."""
        return AdaptedEncoder(base, learned)


DEFAULT_MODEL_RATE = 5e-5
"""Chosen on held-out clicks of squad-sent; the paper's 5e-6 is for thirty times as many queries."""


@validate_init
@dataclass(frozen=True)
class QueryModel:
    """A transformer to train in place of an adapter (extra `neural`); items stay coded as they are.

    Parameters
    ----------
    folder : path
        Where the trained model is written; it must be new.
    rate : float, optional
        The model's learning rate; 5e-5 unless given, or 5e-6 with the paper's numbers.
    device : str, optional
        Where to train, such as "cpu" or "cuda"; where the encoder is, unless given.
    encoder : Encoder, optional
        The `SentenceEncoder` to begin with, where the base was made from stored vectors; the base's own unless given.

    Examples
    --------
    >>> QueryModel("trained/", rate=2e-5).rate
    2e-05
    """

    folder: str | Path
    rate: float | None = None
    device: str | None = None
    encoder: Encoder | None = None

    def __post_init__(self) -> None:
        if self.rate is not None:
            check_range("rate", self.rate, 0, 1)
        if Path(self.folder).exists():
            raise InputError(f"`folder` must be new. Got {self.folder}, which is there.")

    @classmethod
    def of(cls, given: QueryModel | str | Path, base: Encoder, *, rate: float = DEFAULT_MODEL_RATE) -> QueryModel:
        """Return the model that a folder or a QueryModel means, with the encoder and the rate that it begins with."""
        asked = given if isinstance(given, cls) else cls(given)  # type: ignore[arg-type]
        start: Any = base if asked.encoder is None else asked.encoder
        encoder = getattr(start, "loaded", lambda: start)()
        if not isinstance(encoder, SentenceEncoder) or encoder.dim != base.dim:
            wanted = f"a SentenceEncoder of {base.dim} dimensions to be trained, or `model` a QueryModel that has one"
            raise InputError(f"The base's encoder must be {wanted}. Got {encoder!r}.")
        return replace(asked, encoder=encoder, rate=rate if asked.rate is None else asked.rate)

    def training(
        self, index: PqIndex, training_data: JpqTrainingData, settings: JpqSettings, vectors: Float32Array | None
    ) -> ModelTraining:
        """Return a training of the model and the centroids."""
        model = self._copy(settings.seed)
        parts = {"model": model, "texts": training_data.texts, "vectors": vectors, **training_data.labels}
        return ModelTraining(index, training_data.rows, settings, **parts)

    def trained(self, base: Encoder, learned: Any) -> Encoder:
        """Write the trained model, and return an encoder that asks it and lets the base answer."""
        model = self._copy(0)
        model.take(learned)
        return TwoSidedEncoder(model.save(self.folder), base)

    def _copy(self, seed: int) -> TorchQueryEncoder:
        encoder: Any = self.encoder
        return TorchQueryEncoder(
            encoder, rate=DEFAULT_MODEL_RATE if self.rate is None else self.rate, seed=seed, device=self.device
        )
