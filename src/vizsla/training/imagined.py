"""Imagined queries: an item's vector, moved as some query lay away from the item that was clicked for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vizsla.training.code_scores import Floats
from vizsla.training.lists import Relevant


class ImaginedQueries:
    """Queries for items that nobody asked for: where a query lies, seen from its item, is much alike everywhere.

    Every item may be drawn, clicked or not, so that training on clicks does not forget those without.

    Parameters
    ----------
    vectors : float32 array, items × dimensions
        The items, uncompressed or as far as they are kept.
    rows : float32 array, queries × dimensions
        Queries' vectors, of length 1.
    relevant : Relevant
        What was clicked for them.

    Examples
    --------
    >>> vectors, rows = np.eye(2, dtype=np.float32), np.array([[0.8, 0.6]], np.float32)
    >>> clicks = Relevant(np.array([[0]], np.int32), np.ones((1, 1), np.float32))
    >>> drawn, items = ImaginedQueries(vectors, rows, clicks).draw(1, np.random.default_rng(3))
    >>> items.tolist(), [round(float(number), 2) for number in drawn[0]]
    ([1], [-0.12, 0.99])
    """

    def __init__(self, vectors: Floats, rows: Floats, relevant: Relevant):
        self.vectors = vectors
        queries, places = np.nonzero(relevant.weights)
        self._queries, self._items, self._rows = queries, relevant.items[queries, places], rows

    def draw(self, count: int, pick: np.random.Generator) -> tuple[Floats, NDArray[np.int32]]:
        """Return some imagined queries, of length 1, and the item that each one is about."""
        items = pick.integers(0, len(self.vectors), count).astype(np.int32)
        models = pick.integers(0, len(self._queries), count)
        moved = _units(self.vectors[self._items[models]])
        drawn = _units(self.vectors[items]) + self._rows[self._queries[models]] - moved
        return _units(drawn), items


def _units(rows: Floats) -> Floats:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1)[:, None], np.float32)
