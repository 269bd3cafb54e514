"""StoredIndex: what the indexes share that keep the items' vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Numbers, Scores
from vizsla.indexes.dense_index import DenseIndex
from vizsla.indexes.dots import pair_dots
from vizsla.indexes.item_vectors import Floats, ItemVectors


class StoredIndex(DenseIndex):
    """Inner products with stored vectors. Every score is that of `pair_dots`, whoever found the item.

    Parameters
    ----------
    vectors : ItemVectors
        The items' vectors as they are stored.
    """

    def __init__(self, vectors: ItemVectors):
        self.stored = vectors

    def __len__(self) -> int:
        return len(self.stored)

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return self.stored.dim

    @property
    def vectors(self) -> Any:
        """The stored rows: float32 or float16, memory-mapped after a load; for bytes, the decoded float32 rows."""
        return self.stored.take(slice(None)) if self.stored.storage == "int8" else self.stored.rows

    @property
    def nbytes(self) -> int:
        """Bytes of the stored vectors."""
        return self.stored.nbytes

    @property
    def options(self) -> dict[str, Any]:
        """What `build` was given, so that other vectors can be indexed alike.

        Examples
        --------
        >>> from vizsla.indexes.flat import FlatIndex
        >>> FlatIndex.build([[1.0]], storage="float16").options
        {'storage': 'float16'}
        """
        return {"storage": self.stored.storage}

    def take(self, items: NDArray[Any] | slice) -> Floats:
        """Return these items' vectors in float32; a slice of float32 vectors is not copied."""
        return self.stored.take(items)

    def _pairs(self, rows: Floats, numbers: NDArray[np.int64], items: Numbers) -> Scores:
        return pair_dots(rows, numbers, self.stored, items)

    @property
    def _row_bytes(self) -> int:
        return self.dim * self.stored.rows.itemsize
