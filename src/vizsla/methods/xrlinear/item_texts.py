"""The items' own texts: who is near whom, for items that nobody has clicked yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.lazy import cached_property
from vizsla.core.sparse import are_offsets, row_numbers
from vizsla.errors import FormatError
from vizsla.indexes.inverted import InvertedIndex

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

BLOCK = 256
"""Rows of a dense matrix product at a time: as many similarities as items for each of them."""


class ItemTexts:
    """Items × features of their texts, and the search for neighbors among them.

    Parameters
    ----------
    vectors : csr_array
        A row for each item; empty for an item without text.
    """

    def __init__(self, vectors: csr_array):
        self.vectors = vectors

    def __len__(self) -> int:
        return int(self.vectors.shape[0])

    @cached_property
    def index(self) -> InvertedIndex | None:
        """Postings of the texts; None where features can be negative, as those of dense encoders are."""
        return None if self.vectors.nnz and self.vectors.data.min() < 0 else InvertedIndex.build(self.vectors)

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
            How many neighbors at most; only similarities above 0 count.
        among : bool array
            Which items can be neighbors.
        own : int array, optional
            The item that each row is, which is no neighbor of itself.
        threads : int
            How many rows at a time.
        """
        more = count if own is None else count + 1
        found = self._similar(vectors, more, among, threads)
        rows = row_numbers(found.indptr)
        if own is not None:
            found.data[found.indices == own[rows]] = 0
            found.eliminate_zeros()
            rows = row_numbers(found.indptr)
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

    def write(self, writer: ArtifactWriter, prefix: str) -> None:
        """Store the vectors; the postings are made again when they are needed."""
        writer.array(f"{prefix}.offsets", self.vectors.indptr.astype(np.int64, copy=False))
        writer.array(f"{prefix}.features", self.vectors.indices.astype(np.int32, copy=False))
        writer.array(f"{prefix}.values", self.vectors.data.astype(np.float32, copy=False))

    @classmethod
    def read(cls, reader: ArtifactReader, prefix: str, *, dim: int) -> Self:
        """Load and check what `write` stored."""
        from scipy.sparse import csr_array

        offsets, features = reader.array(f"{prefix}.offsets", np.int64), reader.array(f"{prefix}.features", np.int32)
        values = reader.array(f"{prefix}.values", np.float32)
        if not are_offsets(offsets, len(features)) or len(values) != len(features):
            raise FormatError(f"{reader.path}: the items' texts must be rows of features and values.")
        if len(features) and not 0 <= features.min() <= features.max() < dim:
            raise FormatError(f"{reader.path}: a feature of the items' texts is out of range.")
        if not np.isfinite(values).all():
            raise FormatError(f"{reader.path}: the items' texts must have finite values.")
        return cls(csr_array((values, features, offsets), shape=(len(offsets) - 1, dim)))

    def _similar(self, vectors: csr_array, count: int, among: NDArray[np.bool_], threads: int) -> csr_array:
        if self.index is not None:
            return self.index.search(vectors, count, filter=among, threads=threads).to_csr(items=len(self))
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
