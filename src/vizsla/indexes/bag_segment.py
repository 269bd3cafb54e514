"""BagSegment: some items' binary lists, checked once and shared by every index that they are part of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.errors import InputError
from vizsla.sparse_rows import SparseRows

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader

ARRAYS = {
    "items": np.int32,
    "token_offsets": np.int64,
    "data_offsets": np.int64,
    "tokens": np.int32,
    "starts": np.uint32,
    "data": np.uint16,
}
"""What a segment is made of, and of which type; `native/postings/bag_blocks.hpp` says what they mean."""
OFFSETS = ("token_offsets", "data_offsets")


class BagSegment:
    """Blocks of at most 65,536 items: for each token the items that hold it, as 16-bit places or as a bitmap.

    Parameters
    ----------
    arrays : dict of arrays
        By the names of `ARRAYS`.
    width : int
        The number of tokens.
    """

    def __init__(self, arrays: dict[str, NDArray[Any]], width: int):
        self.arrays, self.width = arrays, width
        try:
            checked: Any = _native.BagSegment
            self.native: _native.BagSegment = checked(*(arrays[name] for name in ARRAYS), width)
        except (ValueError, TypeError) as error:
            reason = "an array is of the wrong type" if isinstance(error, TypeError) else str(error)
            raise InputError(f"The lists must be sound. Got others: {reason}.") from error

    @classmethod
    def of(cls, rows: SparseRows) -> Self:
        """Build the lists of rows; what an entry weighs does not matter, one of 0 is left out."""
        if not rows.values.all():
            kept = rows.values != 0
            counts = np.concatenate([[0], np.cumsum(kept)])[rows.offsets].astype(np.int64)
            rows = SparseRows(counts, rows.columns[kept], rows.values[kept], rows.width)
        try:
            made = _native.bag_build(rows.offsets, rows.columns, rows.width)
        except (ValueError, TypeError) as error:
            raise InputError(f"The rows must be sound. Got others: {error}.") from error
        return cls(dict(zip(ARRAYS, made, strict=True)), rows.width)

    @classmethod
    def joined(cls, segments: list[Self], width: int) -> Self:
        """Return one segment with the blocks of all, as they are."""
        if len(segments) == 1 and segments[0].width == width:
            return segments[0]
        arrays = {name: _joined([one.arrays[name] for one in segments], name, kind) for name, kind in ARRAYS.items()}
        return cls(arrays, width)

    @classmethod
    def read(cls, reader: ArtifactReader, width: int) -> Self:
        """Read the arrays from an artefact."""
        return cls({name: reader.array(name, kind) for name, kind in ARRAYS.items()}, width)

    def __len__(self) -> int:
        return self.native.items

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return int(sum(array.nbytes for array in self.arrays.values()))

    def rows(self) -> SparseRows:
        """Return the items' tokens, ascending, each with the value 1."""
        offsets, tokens = self.native.rows()
        return SparseRows(offsets, tokens, np.ones(len(tokens), np.float32), self.width)


def _joined(parts: list[NDArray[Any]], name: str, kind: Any) -> NDArray[Any]:
    if name not in OFFSETS:
        return np.concatenate([np.zeros(0, kind), *parts])
    starts = np.cumsum([0, *(int(part[-1]) for part in parts)])
    pairs = zip(parts, starts.tolist(), strict=False)
    return np.concatenate([np.zeros(1, kind), *(part[1:] + start for part, start in pairs)]).astype(kind)
