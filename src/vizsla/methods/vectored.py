"""Vectored: a retriever whose items are rows of a matrix, and whose score is an inner product with them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates
from vizsla.encoder import Encoder
from vizsla.index import Index, Mask
from vizsla.retriever import Retriever

Rows = Any
"""A float32 array, or a CSR array, with a row a text or an item."""


class Vectored(Retriever):
    """What a method needs that moves items' rows, dense or sparse, and searches them as the retriever does its own."""

    encoder: Encoder
    """How query texts become rows."""
    index: Any
    """The items' rows."""

    @property
    def _weights(self) -> NDArray[np.float32] | None:
        """What each column of a query's row weighs when the row stands for an item; None: 1 each."""
        return None

    @abstractmethod
    def _encoded(self, texts: list[str]) -> Rows:
        """Return the queries' rows."""

    @abstractmethod
    def _vectors(self, items: NDArray[np.int64] | slice) -> Rows:
        """Return the items' rows."""

    @abstractmethod
    def _indexed(self, vectors: Rows) -> Any:
        """Index other rows as its own are."""

    @abstractmethod
    def _find(self, index: Index, rows: Rows, k: int, allowed: Mask | None, threads: int) -> Candidates:
        """Search an index over the same items."""

    @abstractmethod
    def _score_given(self, index: Index, rows: Rows, candidates: Candidates) -> Candidates:
        """Score candidates by an index over the same items."""
