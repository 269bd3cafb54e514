"""ModelTraining: a transformer on its way together with the centroids, by the losses and negatives of JpqTraining."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.cached_property import cached_property
from vizsla.methods.jpq.training import JpqTraining
from vizsla.training.adamw import AdamW
from vizsla.training.code_scores import Asked, Floats, Items
from vizsla.training.schedule import clipped
from vizsla.training.state import TrainingState
from vizsla.training.torch_encoder import TorchQueryEncoder


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

    def asked_rows(self, rows: Floats, texts: Sequence[str]) -> Floats:
        """Return the vectors of queries that are not trained on, by the model as it is."""
        return self.model.encoded(texts)

    def query_side(self) -> list[Floats]:
        """Return a copy of the model's weights."""
        return self.model.weights()

    def state(self, measured: Sequence[NDArray[np.float64]] = ()) -> TrainingState:
        """Return a checkpoint."""
        state = super().state(measured)
        return TrainingState(state.key, state.steps, state.arrays | self.model.state(), state.measured)

    def resume(self, state: TrainingState) -> None:
        """Go on from a checkpoint of this very training."""
        super().resume(state)
        self.model.resume(state)

    @cached_property
    def key(self) -> str:
        """Says what is trained on what: the model and its rate, too."""
        return f"{super().key} {self.model.encoder.fingerprint} {self.model.rate!r}"

    def _taught(self, asked: Asked, items: Items, by_score: NDArray[np.float64], real: int, factor: float) -> Floats:
        by_centroid, by_row = self.learned.row_gradients(asked, items, by_score)
        clipped([by_centroid], self.settings.clip)
        self.model.step(by_row[:real, : self.dim], factor=factor)  # imagined queries have no text
        return by_centroid

    def _moved(self) -> dict[str, AdamW]:
        return {"centroids": self.centroids}

    def looked_at(self, numbers: NDArray[np.int64]) -> Floats:
        """Return the vectors of these queries as the model gives them now, where nothing is learned from them."""
        return self.model.encoded([self.texts[number] for number in numbers.tolist()])

    def _encoded(self, numbers: NDArray[np.int64]) -> Floats:
        return self.model.rows([self.texts[number] for number in numbers.tolist()])
