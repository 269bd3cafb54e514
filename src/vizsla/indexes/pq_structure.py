"""PqStructure: a structure proposes items, codes score them."""

from __future__ import annotations

from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates
from vizsla.errors import InputError
from vizsla.filter import Filter
from vizsla.indexes.approximate import ApproximateIndex
from vizsla.indexes.dots import pair_dots
from vizsla.indexes.item_vectors import Floats, ItemVectors
from vizsla.indexes.pq import PqIndex
from vizsla.indexes.pq_codebook import Codebook
from vizsla.indexes.pq_codes import PqCodes


class PqStructure(ApproximateIndex, PqIndex):
    """What HNSW and IVF over codes share: 8-bit codes that Faiss reads too, and scores that are those of `PqIndex`.

    Parameters
    ----------
    codes : PqCodes
        The items' codes, of 8 bits.
    codebook, coder : Codebook
        As in `PqIndex`.
    """

    def __init__(self, codes: PqCodes, codebook: Codebook, *, coder: Codebook | None = None):
        PqIndex.__init__(self, codes, codebook, coder=coder)
        if codes.bits != 8:
            raise InputError("`bits` must be 8 under HNSW and IVF. Got 4: use the index 'pq'.")

    def flat(self) -> PqIndex:
        """Return the exact twin: a scan over the same codes."""
        return PqIndex(self.stored_codes, self.codebook, coder=self.coder)

    def with_items(self, vectors: Any, *, threads: int = 1) -> Self:
        """Raise: the structure would have to be built anew."""
        self._stay()

    def without_items(self, items: NDArray[Any]) -> Self:
        """Raise: the structure would have to be built anew."""
        self._stay()

    def _stay(self) -> NoReturn:
        raise InputError(f"The items of an index of kind {self.kind!r} must stay as they are: build it anew.")

    def _search(self, rows: Floats, k: int, filter: Filter | None, threads: int) -> Candidates:
        return ApproximateIndex._search(self, rows, k, filter, threads)

    def _asked(self, rows: Floats) -> Floats:
        """Return queries in the codebook's own dimensions: the same bits alone and in a batch."""
        book = self.codebook
        if book.rotation is None:
            return np.ascontiguousarray(book.turned(rows))
        count = len(rows)
        columns = np.tile(np.arange(book.wide, dtype=np.int32), count)
        dots = pair_dots(rows, np.repeat(np.arange(count), book.wide), ItemVectors.of(book.rotation), columns)
        return dots.reshape(count, book.wide)
