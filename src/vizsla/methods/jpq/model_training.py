"""JPQ with a transformer as the query side: the same losses and negatives; a model learns instead of a matrix."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.encoders.two_sided import TwoSidedEncoder
from vizsla.errors import InputError
from vizsla.indexes.pq import PqIndex
from vizsla.methods.dense import Dense
from vizsla.methods.jpq.model import Jpq
from vizsla.methods.jpq.run import JpqRun
from vizsla.methods.jpq.train import prepared_run
from vizsla.methods.jpq.training import JpqTraining
from vizsla.retriever import Retriever
from vizsla.training.code_scores import Floats
from vizsla.training.schedule import clipped, rate_factor
from vizsla.training.torch_encoder import TorchQueryEncoder

MODEL_RATE = 5e-6
"""The paper's, for a transformer."""


class ModelTraining(JpqTraining):
    """Trains a query model together with the centroids; the adapter stays the identity.

    Parameters
    ----------
    model : TorchQueryEncoder
        What learns.
    texts : list of str
        The queries.
    **parts
        Of `JpqTraining`.
    """

    def __init__(self, *given: Any, model: TorchQueryEncoder, texts: list[str], **parts: Any):
        self.model, self.texts = model, texts
        super().__init__(*given, **parts)

    def step(self, numbers: NDArray[np.int64]) -> float:
        """Learn from these queries; return their loss before the step."""
        loss, asked, items, by_score = self._losses(numbers)
        by_row = self.scores.row_gradients(asked, items, by_score)[: len(numbers)]
        by_centroid, _ = self.scores.gradients(asked, items, by_score)
        clipped([by_centroid], self.settings.clip)
        factor = rate_factor(self.steps_done, self.steps, warm_up=self.settings.warm_up)
        self.model.step(by_row, factor=factor)
        if self.settings.trains_centroids:
            self.centroids.step(by_centroid, factor=factor)
        self.steps_done += 1
        return loss

    def _encoded(self, numbers: NDArray[np.int64]) -> Floats:
        return self.model.rows([self.texts[number] for number in numbers.tolist()])


def train_jpq_model(
    base: Dense,
    clicks: Any,
    folder: str | Path,
    *,
    queries: Iterable[str] | None = None,
    teacher: Retriever | None = None,
    share: float = 0.5,
    model_rate: float = MODEL_RATE,
    threads: int = 1,
    **settings: Any,
) -> Jpq:
    """Train the query side of a transformer together with the centroids; items stay coded as they are (extra `neural`).

    Parameters
    ----------
    base : Dense
        A dense retriever over a `PqIndex`, with a `SentenceEncoder`.
    clicks, queries, teacher, threads
        As in `train_jpq`.
    folder : path
        Where the trained model is written; it must be new. `export_onnx(trained.encoder.asking, …)` makes ONNX of it.
    share : float
        The click loss's share.
    model_rate : float
        The model's learning rate.
    **settings
        Of `JpqSettings`; as many `epochs` are taken as are given, 1 unless told otherwise.
    """
    if Path(folder).exists():
        raise InputError(f"`folder` must be new. Got {folder}, which is there.")
    epochs = settings.pop("epochs", 1)
    run = prepared_run(
        base, clicks, queries=queries, teacher=teacher, share=share, threads=threads,
        **{"epochs": epochs, "stop": epochs, "batch": 32, **settings},
    )  # fmt: skip
    training = _training(base, run, model_rate)
    for _ in range(epochs):
        for _ in training.epoch():
            pass
    encoder = TwoSidedEncoder(training.model.save(folder), base.encoder)
    index: PqIndex = run.index.with_centroids(training.scores.centroids)
    return Jpq(base.items, encoder, index, training.settings)


def _training(base: Dense, run: JpqRun, rate: float) -> ModelTraining:
    lessons = run.lessons
    encoder: Any = getattr(base.encoder, "loaded", lambda: base.encoder)()
    model = TorchQueryEncoder(encoder, rate=rate, seed=run.settings.seed)
    return ModelTraining(
        run.index, lessons.rows, run.settings, relevant=lessons.relevant, teacher=lessons.teacher,
        vectors=run.vectors, model=model, texts=lessons.texts,
    )  # fmt: skip
