"""PqCodes: the items' codes as they lie in memory and in the file."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.arguments import array_of
from vizsla.errors import InputError
from vizsla.indexes.cache_lines import zeros_in_lines
from vizsla.indexes.item_vectors import MOST_ITEMS
from vizsla.indexes.pq_codebook import packed, unpacked

Codes = NDArray[np.uint8]
LANES = 64
"""Items whose codes lie side by side: a line of the cache."""


class PqCodes:
    """Codes of all items, in the order in which a scan reads them, or a row an item, as a walk does.

    A code of 8 bits is a byte; two of 4 bits share one, that of the earlier sub-space in its lower half. The bytes of
    64 items lie side by side: ``stored[item // 64, byte, item % 64]``. Places after the last item hold zeros. In rows
    each item's bytes lie for themselves: ``stored[item, byte, 0]``.

    Parameters
    ----------
    stored : uint8 array, blocks × bytes an item × 64, or items × bytes × 1
        It may be a memory-mapped file.
    count : int
        The number of items.
    bits : {8, 4}
        Of a code.

    Examples
    --------
    >>> codes = PqCodes.of(np.array([[1, 2], [3, 4], [5, 6]], np.uint8), bits=4)
    >>> codes.stored.shape, codes.take(np.array([2, 0])).tolist()
    ((1, 1, 64), [[5, 6], [1, 2]])
    >>> codes.in_rows().stored.shape
    (3, 1, 1)
    """

    def __init__(self, stored: Codes, count: int, *, bits: int):
        self.stored, self.count, self.bits = np.ascontiguousarray(stored), count, bits
        if stored.dtype != np.uint8 or stored.ndim != 3 or stored.shape[2] not in (LANES, 1):
            wanted = f"uint8, blocks × bytes × {LANES}, or items × bytes × 1"
            raise InputError(f"`codes` must be {wanted}. Got {stored.dtype} of shape {stored.shape}.")
        if not 0 <= count <= MOST_ITEMS or len(stored) != -(-count // self.side) or not stored.shape[1]:
            raise InputError(f"`codes` must be those of {count} items. Got shape {stored.shape}.")
        if bits not in (8, 4):
            raise InputError(f"`bits` must be 8 or 4. Got {bits!r}.")

    @classmethod
    def of(cls, codes: Codes, *, bits: int) -> Self:
        """Store codes that come as items × parts."""
        given: Codes = array_of("codes", codes, np.uint8)
        if given.ndim != 2 or not given.shape[1] or (bits == 4 and given.shape[1] % 2):
            raise InputError(f"`codes` must be items × sub-spaces, an even number for 4 bits. Got {given.shape}.")
        if bits == 4 and given.max(initial=0) > 15:
            raise InputError(f"`codes` of 4 bits must be at most 15. Got {given.max()}.")
        room = cls.room(len(given), given.shape[1], bits=bits)
        room.put(0, given)
        return room

    @classmethod
    def room(cls, count: int, parts: int, *, bits: int) -> Self:
        """Return zeros for so many items, to be filled by `put`."""
        return cls(zeros_in_lines((-(-count // LANES), parts * bits // 8, LANES), np.uint8), count, bits=bits)

    def put(self, first: int, codes: Codes) -> None:
        """Write the codes of items from `first` on, given as items × parts."""
        items = np.arange(first, first + len(codes))
        self.stored[items // self.side, :, items % self.side] = codes if self.bits == 8 else packed(codes)

    def in_rows(self) -> Self:
        """Return the same codes, a row an item: themselves where they lie so, else a copy."""
        if self.side == 1:
            return self
        rows = self.stored.transpose(0, 2, 1).reshape(-1, self.stored.shape[1])[: self.count]
        return type(self)(rows[:, :, None], self.count, bits=self.bits)

    def __len__(self) -> int:
        return self.count

    @property
    def side(self) -> int:
        """How many items' bytes lie side by side."""
        return int(self.stored.shape[2])

    @property
    def parts(self) -> int:
        """Codes of an item."""
        return int(self.stored.shape[1]) * (8 // self.bits)

    @property
    def nbytes(self) -> int:
        """Bytes of all codes."""
        return int(self.stored.nbytes)

    def take(self, items: NDArray[Any] | slice) -> Codes:
        """Return the codes of these items, one a sub-space: items × parts."""
        numbers = np.arange(self.count)[items]
        found = self.stored[numbers // self.side, :, numbers % self.side]
        return found if self.bits == 8 else unpacked(found)
