"""ApproximateStoredIndex: a structure over the items' vectors themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.candidates import Candidates
from vizsla.errors import InputError
from vizsla.indexes.approximate import ApproximateIndex
from vizsla.indexes.flat import FlatIndex
from vizsla.indexes.item_vectors import Floats
from vizsla.indexes.stored_index import StoredIndex
from vizsla.stats import Stats


class ApproximateStoredIndex(ApproximateIndex, StoredIndex):
    """HNSW or IVF over stored vectors."""

    def flat(self) -> FlatIndex:
        """Return the exact twin over the same stored vectors."""
        return FlatIndex(self.stored)

    def _scored(self, rows: Floats, proposed: NDArray[np.int64]) -> Candidates:
        stored, proposed = self.stored, np.ascontiguousarray(proposed, np.int64)
        try:
            packed: Any = _native.score_proposed(rows, proposed, stored.rows, stored.low, stored.step)
        except ValueError as error:
            raise InputError(f"`vectors` must give finite scores. Got others: {error}.") from error
        offsets, items, scores = map(np.frombuffer, packed, (np.int64, np.int32, np.float32))
        # Nobody asked for scores, and Faiss does not say how much it read: the cost stays open.
        return Candidates.trusted(offsets, items, scores, None, Stats())
