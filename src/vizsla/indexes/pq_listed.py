"""ListedCodes: codes in the order of the lists that a search reads, so that Faiss looks at them where they lie."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Numbers
from vizsla.indexes.pq_codes import Codes, PqCodes


class ListedCodes(PqCodes):
    """Codes of 8 bits, a row an item, those of one list after those of another; within a list by number.

    Parameters
    ----------
    codes : PqCodes
        The items' codes.
    lists : int32 array
        Each item's list.

    Examples
    --------
    >>> codes = PqCodes.of(np.array([[1], [2], [3]], np.uint8), bits=8)
    >>> listed = ListedCodes(codes, np.array([1, 0, 1], np.int32))
    >>> listed.stored.ravel().tolist(), listed.take(slice(None)).ravel().tolist()
    ([2, 1, 3], [1, 2, 3])
    """

    def __init__(self, codes: PqCodes, lists: Numbers):
        self.order = np.argsort(lists, kind="stable").astype(np.int32)
        self.places = np.empty_like(self.order)
        self.places[self.order] = np.arange(len(lists), dtype=np.int32)
        super().__init__(codes.take(self.order)[:, :, None], len(codes), bits=8)

    @classmethod
    def listed(cls, codes: PqCodes, lists: Numbers) -> Self:
        """Return codes by these lists: themselves where they are so already."""
        return codes if isinstance(codes, cls) else cls(codes, lists)

    @property
    def nbytes(self) -> int:
        """Bytes of all codes, and of where each item's are."""
        return super().nbytes + self.order.nbytes + self.places.nbytes

    def take(self, items: NDArray[Any] | slice) -> Codes:
        """Return the codes of these items: items × parts."""
        return super().take(self.places[items])

    def in_order(self, items: NDArray[Any] | slice = slice(None)) -> PqCodes:
        """Return a copy of these items' codes, in their order."""
        return PqCodes.of(self.take(items), bits=8)
