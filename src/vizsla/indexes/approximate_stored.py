"""ApproximateStoredIndex: a structure over the items' vectors themselves."""

from __future__ import annotations

from vizsla.indexes.approximate import ApproximateIndex
from vizsla.indexes.flat import FlatIndex
from vizsla.indexes.stored_index import StoredIndex


class ApproximateStoredIndex(ApproximateIndex, StoredIndex):
    """HNSW or IVF over stored vectors."""

    def flat(self) -> FlatIndex:
        """Return the exact twin over the same stored vectors."""
        return FlatIndex(self.stored)
