"""Index: an immutable structure over items that answers encoded queries."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vizsla.artifact import Artifact
from vizsla.candidates import Candidates

if TYPE_CHECKING:
    from vizsla.encoder import Matrix

Mask = NDArray[np.bool_]


class Index(Artifact):
    """Answers encoded queries with item numbers; knows nothing of texts or string ids."""

    exact: bool = True
    """Whether `search` gives the same answer as scoring every item."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of items."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of the arrays that answering needs."""

    @abstractmethod
    def search(self, queries: Matrix, k: int, *, allowed: Mask | None = None, threads: int = 1) -> Candidates:
        """Return the best `k` items of every row; with `allowed`, only items whose entry is True."""

    @abstractmethod
    def score(self, queries: Matrix, candidates: Candidates) -> Candidates:
        """Score the given items for every row; the answer is ranked."""
