"""Pool: the items that a batch of queries considers: all of them, or the best of a retriever."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vizsla.filter import Filter

Items = NDArray[np.int64]


@dataclass(frozen=True)
class Pool:
    """Places are numbers within a query's pool; without pools they are item numbers.

    Parameters
    ----------
    queries : int
        How many there are.
    count : int
        Items of the catalogue.
    numbers : list of arrays, optional
        Each query's items, ascending; None for all.
    """

    queries: int
    count: int
    numbers: list[Items] | None = None

    @property
    def width(self) -> int:
        """The most items of a query."""
        return self.count if self.numbers is None else max(map(len, self.numbers), default=0)

    def items(self, at: int, places: Items) -> Items:
        """Return item numbers by places."""
        return places if self.numbers is None else self.numbers[at][places]

    def places(self, at: int, items: NDArray[np.integer]) -> Items:
        """Return the places of items, without those that are not in the pool."""
        if self.numbers is None:
            return items.astype(np.int64)
        own = self.numbers[at]
        where = np.minimum(np.searchsorted(own, items), max(0, len(own) - 1))
        return where[own[where] == items] if len(own) else np.zeros(0, np.int64)

    def allowed(self, filter: Filter | None) -> NDArray[np.bool_]:
        """Return which places may be scored, queries × places."""
        if self.numbers is not None:
            return np.arange(self.width) < np.array([len(own) for own in self.numbers])[:, None]
        mask = np.ones(self.count, np.bool_) if filter is None else filter.mask
        return np.broadcast_to(mask, (self.queries, self.count)).copy()

    def padded(self, at: int) -> Items:
        """Return a query's items, filled up to the common width with its first one."""
        own = np.arange(self.count) if self.numbers is None else self.numbers[at]
        return np.concatenate([own, np.full(self.width - len(own), own[0] if len(own) else 0, np.int64)])
