"""The items' own texts: who is near whom, for items that nobody has clicked yet."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError
from vizsla.indexes.inverted import InvertedIndex

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BLOCK = 256
"""Rows of a dense matrix product at a time: as many similarities as items for each of them."""


class ItemTexts:
    """Items × features of their texts, and the search for neighbours among them.

    Parameters
    ----------
    vectors : csr_array, optional
        A row for each item; empty for an item without text.
    index : InvertedIndex, optional
        The same as postings. Either is made from the other when it is needed.
    """

    def __init__(self, vectors: csr_array | None = None, *, index: InvertedIndex | None = None):
        if vectors is None and index is None:
            raise InputError("ItemTexts must get `vectors` or `index`. Got neither.")
        self._vectors, self._index = vectors, index

    def __len__(self) -> int:
        return len(self._index) if self._index is not None else int(self.vectors.shape[0])

    @cached_property
    def vectors(self) -> csr_array:
        """Items × features."""
        return self._vectors if self._vectors is not None else self._index.to_csr()  # type: ignore[union-attr]

    @cached_property
    def index(self) -> InvertedIndex | None:
        """Postings of the texts; None where features can be negative, as those of dense encoders are."""
        if self._index is not None:
            return self._index
        return None if self.vectors.nnz and self.vectors.data.min() < 0 else InvertedIndex.build(self.vectors)

    @property
    def nbytes(self) -> int:
        """Bytes of the postings, or else of the vectors."""
        return self.index.nbytes if self.index is not None else int(self.vectors.data.nbytes * 2)

    def nearest(
        self,
        vectors: csr_array,
        count: int,
        *,
        among: NDArray[np.bool_],
        own: NDArray[np.int64] | None = None,
        threads: int = 1,
    ) -> csr_array:
        """Return rows × items: the nearest items of each row as shares that add up to 1.

        Parameters
        ----------
        vectors : csr_array
            A row for each text to place.
        count : int
            How many neighbours at most; only similarities above 0 count.
        among : bool array
            Which items can be neighbours.
        own : int array, optional
            The item that each row is, which is no neighbour of itself.
        threads : int
            How many rows at a time.
        """
        more = count if own is None else count + 1
        found = self._similar(vectors, more, among, threads)
        rows = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
        if own is not None:
            found.data[found.indices == own[rows]] = 0
            found.eliminate_zeros()
            rows = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
        sums = np.bincount(rows, found.data, minlength=found.shape[0])
        found.data = (found.data / sums[rows]).astype(np.float32)
        return found

    def with_rows(self, vectors: csr_array) -> Self:
        """Return these texts and more."""
        from scipy.sparse import vstack

        return type(self)(vstack([self.vectors, vectors], format="csr"))

    def take(self, items: NDArray[np.int64]) -> Self:
        """Return the texts of these items only."""
        return type(self)(self.vectors[items])

    def _similar(self, vectors: csr_array, count: int, among: NDArray[np.bool_], threads: int) -> csr_array:
        if self.index is not None:
            return self.index.search(vectors, count, allowed=among, threads=threads).to_csr(items=len(self))
        from scipy.sparse import vstack

        blocks = (vectors[first : first + BLOCK] for first in range(0, max(vectors.shape[0], 1), BLOCK))
        matrix: csr_array = vstack([self._similar_block(block, count, among) for block in blocks], format="csr")
        return matrix

    def _similar_block(self, vectors: csr_array, count: int, among: NDArray[np.bool_]) -> csr_array:
        from scipy.sparse import csr_array

        dots = np.where(among, (vectors @ self.vectors.T).toarray(), 0)
        best = np.argsort(-dots, axis=1, kind="stable")[:, :count]
        kept = np.take_along_axis(dots, best, axis=1)
        rows, places = np.nonzero(kept > 0)
        entries: Any = (kept[rows, places].astype(np.float32), (rows, best[rows, places]))
        return csr_array(entries, shape=dots.shape)
