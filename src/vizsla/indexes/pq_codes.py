"""PqCodes: the items' codes as they lie in memory and in the file."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError
from vizsla.indexes.item_vectors import MOST_ITEMS
from vizsla.indexes.pq_codebook import packed, unpacked

Codes = NDArray[np.uint8]
LANES = 64
"""Items whose 4-bit codes lie side by side: a line of the cache."""


class PqCodes:
    """Codes of all items; 8-bit codes a row an item, 4-bit codes in the order in which a scan reads them.

    Two codes of 4 bits share a byte, the one of the earlier sub-space in its lower half. The bytes of 64 items lie side
    by side: ``stored[item // 64, byte, item % 64]``. Places after the last item hold zeros.

    Parameters
    ----------
    stored : uint8 array
        items × parts for 8 bits; blocks × (parts / 2) × 64 for 4 bits. It may be a memory-mapped file.
    count : int
        The number of items.

    Examples
    --------
    >>> codes = PqCodes.of(np.array([[1, 2], [3, 4], [5, 6]], np.uint8), bits=4)
    >>> codes.stored.shape, codes.take(np.array([2, 0])).tolist()
    ((1, 1, 64), [[5, 6], [1, 2]])
    """

    def __init__(self, stored: Codes, count: int):
        self.stored, self.count = np.ascontiguousarray(stored), count
        wanted = count if stored.ndim == 2 else -(-count // LANES)
        if stored.dtype != np.uint8 or stored.ndim not in (2, 3) or stored.shape[2:] not in ((), (LANES,)):
            shapes = f"items × bytes, or blocks × bytes × {LANES}"
            raise InputError(f"`codes` must be uint8, {shapes}. Got {stored.dtype} of shape {stored.shape}.")
        if not 0 <= count <= MOST_ITEMS or len(stored) != wanted or not stored.shape[1]:
            raise InputError(f"`codes` must be those of {count} items. Got shape {stored.shape}.")

    @classmethod
    def of(cls, codes: Codes, *, bits: int) -> Self:
        """Store codes that come as items × parts."""
        if bits == 8:
            return cls(np.ascontiguousarray(codes, np.uint8), len(codes))
        if len(codes) and codes.max() > 15:
            raise InputError(f"`codes` of 4 bits must be at most 15. Got {codes.max()}.")
        room = cls.room(len(codes), codes.shape[1], bits=4)
        room.put(0, codes)
        return room

    @classmethod
    def room(cls, count: int, parts: int, *, bits: int) -> Self:
        """Return zeros for so many items, to be filled by `put`."""
        shape = (count, parts) if bits == 8 else (-(-count // LANES), parts // 2, LANES)
        return cls(np.zeros(shape, np.uint8), count)

    def put(self, first: int, codes: Codes) -> None:
        """Write the codes of items from `first` on, given as items × parts."""
        if self.bits == 8:
            self.stored[first : first + len(codes)] = codes
            return
        items = np.arange(first, first + len(codes))
        self.stored[items // LANES, :, items % LANES] = packed(codes)

    def __len__(self) -> int:
        return self.count

    @property
    def bits(self) -> int:
        """Bits of a code."""
        return 8 if self.stored.ndim == 2 else 4

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
        if self.bits == 8:
            return np.asarray(self.stored[items])
        numbers = np.arange(self.count)[items]
        return unpacked(self.stored[numbers // LANES, :, numbers % LANES])
