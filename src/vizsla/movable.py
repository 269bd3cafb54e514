"""Movable: a retriever whose items are rows of a matrix that another method may move."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vizsla.encoded import Encoded
from vizsla.encoder import Encoder
from vizsla.index import Index


class Movable(Encoded):
    """What a method that moves rows, as PEFA does, asks of a retriever: its rows, and how to index others."""

    in_words: ClassVar[str] = "a dense retriever, BM25 or TF-IDF"

    @property
    def column_weights(self) -> NDArray[np.float32] | None:
        """What each column of a query's row weighs when the row stands for an item; None: 1 each."""
        return None

    @property
    def row_lengths(self) -> tuple[float, ...]:
        """Lengths that are worth a trial for the moved rows; nothing where rows do not all have length 1."""
        return ()

    @abstractmethod
    def item_rows(self, items: NDArray[np.int64] | slice = slice(None)) -> Any:
        """Return these items' rows: a float32 array, or a CSR array."""

    def grown_encoder(self, texts: Iterable[str]) -> Encoder:
        """Return an encoder with more columns, for words that only these texts have; its own where columns are fixed.

        The first columns are those of the encoder itself, and rows without the others are its own.
        """
        return self.encoder

    @abstractmethod
    def index_rows(self, rows: Any) -> Index:
        """Index other rows as the retriever's own are; they may have more columns, as `grown_encoder` gives them."""
