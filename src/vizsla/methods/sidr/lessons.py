"""Lessons: what SiDR's training learns from, in token ids and item numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla.cached_property import cached_property
from vizsla.indexes.bag import BagIndex
from vizsla.sparse_rows import SparseRows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Lessons:
    """Queries, items and clicks.

    Parameters
    ----------
    queries, items : lists of int64 arrays
        Token ids, as the transformer reads them.
    asked : SparseRows
        The tokens that each query holds.
    tables : SparseRows
        What the table of token weights says for each query; the transformer's weights are added to it.
    clicks : csr_array
        Queries × items.
    index : BagIndex
        The items' bags, where negatives are found.
    answers : list of lists of str, optional
        For each query strings that make an item an answer, so that it is no negative.
    texts : list of str
        The items' texts, where answers are looked for.
    """

    queries: list[Numbers]
    items: list[Numbers]
    asked: SparseRows
    tables: SparseRows
    clicks: csr_array
    index: BagIndex
    answers: list[list[str]] | None
    texts: list[str]

    @cached_property
    def pairs(self) -> tuple[Numbers, Numbers]:
        """Query and item of every click."""
        rows = np.repeat(np.arange(self.clicks.shape[0]), np.diff(self.clicks.indptr))
        return rows, self.clicks.indices.astype(np.int64)

    @cached_property
    def bags(self) -> Any:
        """The items' tokens, as a CSR array of ones."""
        return self.index.item_rows().to_scipy()

    @cached_property
    def held(self) -> Numbers:
        """The tokens that some item holds, ascending."""
        return np.unique(self.bags.indices).astype(np.int64)

    @cached_property
    def _keys(self) -> Numbers:
        rows, items = self.pairs
        return np.sort(rows * np.int64(self.clicks.shape[1]) + items)

    def are_clicks(self, queries: Numbers, items: Numbers) -> NDArray[np.bool_]:
        """Return which of queries × items were clicked."""
        keys = queries[:, None] * np.int64(self.clicks.shape[1]) + items
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.asarray(self._keys[places] == keys)

    def are_right(self, queries: Numbers, items: Numbers) -> NDArray[np.bool_]:
        """Return which of queries × items were clicked, or hold one of the query's answers."""
        right = self.are_clicks(queries, items)
        if self.answers is not None:
            for row, query in enumerate(queries.tolist()):
                for answer in self.answers[query]:
                    right[row] |= [answer in self.texts[item] for item in items.tolist()]
        return right
