"""KeptTexts: the items' texts, packed in blocks, so that a few can be read without unpacking all."""

from __future__ import annotations

import zlib
from array import array
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import FormatError, InputError
from vizsla.offsets import are_offsets

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

BLOCK_BYTES = 1 << 15
LEVEL = 6
MOST_UNPACKED = 64 << 20
"""Bytes of one block: one text, where that is longer than a block."""
DENSEST = 1100
"""No block unpacks to more times its bytes: zlib's own limit is 1032."""


class KeptTexts:
    """Texts by number.

    Parameters
    ----------
    data : uint8 array
        The packed blocks, one after another.
    blocks : int64 array
        Where each block begins in `data`, and where the last one ends.
    firsts : int64 array
        The first text of each block, and the number of texts.
    ends : int64 array
        Where each text ends, in bytes of all texts; one more than there are texts, from 0.

    Examples
    --------
    >>> packer = TextPacker()
    >>> for text in ("a fig", "", "a pear"):
    ...     packer.add(text)
    >>> [packer.packed()[number] for number in range(3)]
    ['a fig', '', 'a pear']
    """

    def __init__(
        self,
        data: NDArray[np.uint8],
        blocks: NDArray[np.int64],
        firsts: NDArray[np.int64],
        ends: NDArray[np.int64],
        *,
        source: str = "kept texts",
    ):
        self.data, self.blocks, self.firsts, self.ends, self.source = data, blocks, firsts, ends, source
        self._last: tuple[int, bytes] = (-1, b"")

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, number: int) -> str:
        at = range(len(self))[number]
        block = int(np.searchsorted(self.firsts, at, side="right")) - 1
        start = int(self.ends[self.firsts[block]])
        raw = self._unpacked(block)[int(self.ends[at]) - start : int(self.ends[at + 1]) - start]
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise FormatError(f"{self.source}: text {at} is not valid UTF-8 ({error.reason}).") from error

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return int(self.data.nbytes + self.blocks.nbytes + self.firsts.nbytes + self.ends.nbytes)

    def check(self) -> None:
        """Raise FormatError unless every block can be unpacked to the size that it should have."""
        for number in self.firsts[:-1].tolist():
            _ = self[number]

    def _unpacked(self, block: int) -> bytes:
        last, data = self._last
        if last == block:
            return data
        wanted = int(self.ends[self.firsts[block + 1]] - self.ends[self.firsts[block]])
        packed = self.data[int(self.blocks[block]) : int(self.blocks[block + 1])].tobytes()
        try:
            # A block may not claim less than it unpacks to, and one that claims more than it can is not tried at all.
            possible = wanted <= min(MOST_UNPACKED, DENSEST * len(packed))
            data = zlib.decompressobj().decompress(packed, wanted + 1) if possible else b""
        except zlib.error as error:
            raise FormatError(f"{self.source}: block {block} cannot be unpacked ({error}).") from error
        if len(data) != wanted:
            raise FormatError(f"{self.source}: block {block} must unpack to {wanted} bytes. Got another number.")
        self._last = (block, data)
        return data

    def write(self, writer: ArtifactWriter) -> None:
        """Store the arrays."""
        writer.array("texts", self.data)
        writer.array("text_blocks", self.blocks)
        writer.array("text_firsts", self.firsts)
        writer.array("text_ends", self.ends)

    @classmethod
    def read(cls, reader: ArtifactReader, count: int) -> Self:
        """Read and check the arrays."""
        names = ("text_blocks", "text_firsts", "text_ends")
        data, (blocks, firsts, ends) = reader.array("texts", np.uint8), (reader.array(n, np.int64) for n in names)
        file = reader.path / "texts.npy"
        sound = are_offsets(blocks, len(data)) and len(blocks) == len(firsts) and len(ends) == count + 1
        if not sound or not are_offsets(firsts, count) or not are_offsets(ends, int(ends[-1])):
            raise FormatError(f"{file}: the blocks of the texts do not fit {count} items.")
        if (np.diff(firsts) < 1).any() or (len(blocks) > 1 and np.diff(ends[firsts]).max() > _most(ends)):
            raise FormatError(f"{file}: every block must hold texts, and not too many.")
        texts = cls(data, blocks, firsts, ends, source=str(file))
        if reader.loading.verify:
            texts.check()
        return texts


def _most(ends: NDArray[np.int64]) -> int:
    """Return the most bytes of a block: it is full when a text fills it."""
    return BLOCK_BYTES + int(np.diff(ends).max(initial=0))


class TextPacker:
    """Packs texts as they come."""

    def __init__(self) -> None:
        self._data, self._blocks, self._firsts, self._ends = (
            bytearray(),
            array("q", [0]),
            array("q", [0]),
            array("q", [0]),
        )
        self._waiting = bytearray()

    def add(self, text: str) -> None:
        """Add the next text."""
        raw = text.encode()
        if len(raw) > MOST_UNPACKED - BLOCK_BYTES:
            raise InputError(f"A text must have at most {MOST_UNPACKED - BLOCK_BYTES} bytes. Got one of {len(raw)}.")
        self._waiting += raw
        self._ends.append(self._ends[-1] + len(raw))
        if len(self._waiting) >= BLOCK_BYTES:
            self._close()

    def packed(self) -> KeptTexts:
        """Return all texts."""
        if self._firsts[-1] < len(self._ends) - 1:
            self._close()
        data = np.frombuffer(bytes(self._data), np.uint8)
        return KeptTexts(data, *(np.array(part, np.int64) for part in (self._blocks, self._firsts, self._ends)))

    def _close(self) -> None:
        self._data += zlib.compress(bytes(self._waiting), LEVEL)
        self._blocks.append(len(self._data))
        self._firsts.append(len(self._ends) - 1)
        self._waiting.clear()
