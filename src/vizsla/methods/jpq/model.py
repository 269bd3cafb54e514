"""Jpq: coded items whose centroids were trained together with the query side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla.base.encoder import Encoder
from vizsla.base.queries import Queries
from vizsla.base.recipe import refit
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.core.validation import validate_args
from vizsla.data.filter import Filter
from vizsla.encoders.adapted import AdaptedEncoder
from vizsla.encoders.persistence import read_encoder
from vizsla.errors import InputError
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.learning.selection import Choice
from vizsla.methods.dense import Dense
from vizsla.methods.jpq.settings import JpqSettings

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.data.dataset import Dataset


class Jpq(Dense):
    """Dense search over trained codes. Use `jpq` or `train_jpq` to make one.

    Parameters
    ----------
    items : Strings
        Item ids.
    encoder : Encoder
        The trained query side: an encoder with an adapter, or a model that was trained itself.
    index : PqIndex
        The items' codes, the trained centroids, and those that coded the items.
    settings : JpqSettings
        The settings of its training.
    choice : Choice, optional
        The trials on held-out clicks.
    """

    kind = "jpq"
    index: PqIndex

    @validate_args
    def __init__(
        self, items: Strings, encoder: Encoder, index: PqIndex, settings: JpqSettings, *, choice: Choice | None = None
    ):
        if not isinstance(index, PqIndex):
            raise InputError(f"`index` must be a PqIndex. Got {type(index).__name__}.")
        self.settings, self.choice, self.report = settings, choice, choice
        super().__init__(items, encoder, index)

    def refit_on(self, dataset: Dataset, *, threads: int = 1) -> Self:
        """Compress and train again, by the recipe; a model whose transformer was trained raises."""
        if self._recipe is None or "model" in self._recipe.settings:
            raise InputError(
                "This JPQ cannot be trained again without a new folder for its model. Give a function in its place, "
                "such as `lambda dataset: vizsla.jpq(base, dataset, bytes=16)`."
            )
        again: Self = refit(self, dataset, threads=threads)
        return again

    def __repr__(self) -> str:
        size = f"{self.index.bytes} bytes an item, {self.index.compression:.0f}×"
        return f"Jpq({len(self.items):,} items, {self.index.dim} dimensions, {size})"

    def with_encoder(self, encoder: Encoder) -> Self:
        """Give the encoder that a load could not bring back: the base that was adapted, or the trained one itself."""
        mine = self.encoder
        if isinstance(mine, AdaptedEncoder) and encoder.fingerprint == mine.base.fingerprint:
            return self._with(encoder=mine.with_encoder(encoder))
        return super().with_encoder(encoder)

    def _with(self, **changes: Any) -> Self:
        same = {"items": self._items, "encoder": self.encoder, "index": self.index, "settings": self.settings}
        return self._kept(type(self)(**{**same, "choice": self.choice, **changes}))

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        explained = super()._explain(queries, item, filter)
        codes = self.index.stored_codes.take(np.array([item]))
        row = np.asarray(self._rows(queries), np.float64)[0]
        before = float(row @ self.index.coder.decoded(codes)[0].astype(np.float64))
        reason = f"{explained.reason}; {before:.4f} with the centroids before training"
        return Explanation(explained.score, reason, explained.parts)

    @property
    def _own_report(self) -> Choice | None:
        return self.choice

    def _write(self, writer: ArtifactWriter) -> None:
        super()._write(writer)
        choice = None if self.choice is None else self.choice.to_dict()
        writer.parameters(settings=self.settings.to_dict(), choice=choice)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        index, choice = reader.child("index", PqIndex), reader.parameter("choice", (dict, type(None)))
        settings = JpqSettings.of(reader.parameter("settings", dict))
        done = None if choice is None else Choice.of(choice)
        return cls(reader.catalog("items"), read_encoder(reader), index, settings, choice=done)
