"""Clicked: past queries and the items that were clicked for them, in a retriever's numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.clicks.log import ClickLog
from vizsla.clicks.measures import reciprocal_ranks

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.candidates import Candidates
    from vizsla.strings import Strings


@dataclass(frozen=True)
class Clicked:
    """Query texts and a matrix of click weights, queries × items; every query has clicks."""

    texts: list[str]
    clicks: csr_array

    @classmethod
    def of(cls, clicks: Any, items: Strings) -> Self:
        """Read a Dataset's clicks, or (query text, item id) pairs with or without a weight."""
        log = ClickLog.of(clicks, items, lambda texts: np.ones((len(texts), 1), np.float32))
        matrix = log.matrix.astype(np.float32)
        matrix.data /= 1024
        return cls(list(log.queries), matrix)

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, numbers: NDArray[np.int64]) -> Self:
        """Return these queries."""
        return type(self)([self.texts[number] for number in numbers.tolist()], self.clicks[numbers])

    def reciprocal_ranks(self, found: Candidates) -> NDArray[np.float64]:
        """Return 1 / rank of each query's first clicked item, 0 beyond rank 10."""
        return self.reciprocal_ranks_of(found, found._required_scores())

    def reciprocal_ranks_of(self, found: Candidates, scores: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the same, had the found items these scores."""
        rows = np.repeat(np.arange(len(found)), np.diff(found.offsets))
        relevant = np.asarray(self.clicks[rows, found.items] > 0).reshape(-1)
        return reciprocal_ranks(found.offsets, scores, relevant)
