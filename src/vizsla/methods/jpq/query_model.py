"""QueryModel: a transformer that learns as the query side of JPQ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vizsla.checked import checked_init
from vizsla.encoder import Encoder
from vizsla.encoders.sentence import SentenceEncoder
from vizsla.encoders.two_sided import TwoSidedEncoder
from vizsla.errors import InputError, check_range
from vizsla.indexes.pq import PqIndex
from vizsla.methods.jpq.lessons import Lessons
from vizsla.methods.jpq.model_training import ModelTraining
from vizsla.methods.jpq.settings import JpqSettings
from vizsla.training.code_scores import Floats
from vizsla.training.torch_encoder import TorchQueryEncoder

RATE = 5e-5
"""Chosen on held-out clicks of squad-sent; the paper's 5e-6 is for thirty times as many queries."""


@checked_init
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
    def of(cls, given: QueryModel | str | Path, base: Encoder, *, rate: float = RATE) -> QueryModel:
        """Return the model that a folder or a QueryModel means, with the encoder and the rate that it begins with."""
        asked = given if isinstance(given, cls) else cls(given)  # type: ignore[arg-type]
        start: Any = base if asked.encoder is None else asked.encoder
        encoder = getattr(start, "loaded", lambda: start)()
        if not isinstance(encoder, SentenceEncoder) or encoder.dim != base.dim:
            wanted = f"a SentenceEncoder of {base.dim} dimensions to be trained, or `model` a QueryModel that has one"
            raise InputError(f"The base's encoder must be {wanted}. Got {encoder!r}.")
        return replace(asked, encoder=encoder, rate=rate if asked.rate is None else asked.rate)

    def training(
        self, index: PqIndex, lessons: Lessons, settings: JpqSettings, vectors: Floats | None
    ) -> ModelTraining:
        """Return a training of the model and the centroids."""
        model = self._copy(settings.seed)
        parts = {"model": model, "texts": lessons.texts, "vectors": vectors, **lessons.labels}
        return ModelTraining(index, lessons.rows, settings, **parts)

    def trained(self, base: Encoder, learned: Any) -> Encoder:
        """Write the trained model, and return an encoder that asks it and lets the base answer."""
        model = self._copy(0)
        model.take(learned)
        return TwoSidedEncoder(model.save(self.folder), base)

    def _copy(self, seed: int) -> TorchQueryEncoder:
        encoder: Any = self.encoder
        return TorchQueryEncoder(encoder, rate=RATE if self.rate is None else self.rate, seed=seed, device=self.device)
