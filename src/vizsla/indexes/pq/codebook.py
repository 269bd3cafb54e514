"""Product quantization: codebooks, and item codes packed for scanning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.lazy import cached_property
from vizsla.core.validation import as_array, check_type
from vizsla.errors import InputError
from vizsla.indexes._faiss import faiss_threads, load_faiss
from vizsla.indexes._memory import aligned, zeros_in_lines
from vizsla.indexes.vectors import MAX_ITEMS
from vizsla.typing import Float32Array, Uint8Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

CENTROIDS_BY_BITS = {8: 256, 4: 16}
"""How many centroids a sub-space has, by the bits of a code."""
MAX_SUBSPACES = 4096
MAX_ROTATION_ERROR = 1e-3
"""How far a rotation's columns may be from orthonormal: what Faiss trains in float32 is within 1e-5."""


class Codebook:
    """Centroids of every sub-space, and the rotation that comes before.

    A vector is rotated, widened with zeros if need be, and cut into `subspaces` pieces of `width` numbers. Each piece
    is replaced by one of its sub-space's centroids. Where a dimension is no multiple of `subspaces`, the rotation leads
    to the next multiple: its columns are orthonormal, so that inner products stay what they are.

    Parameters
    ----------
    centroids : float32 array, subspaces × 16 or 256 × width
        The centroid of each code.
    rotation : float32 array, (subspaces · width) × dim, optional
        Turns vectors before they are cut; without one, zeros fill up what is missing.
    dim : int, optional
        The length of a vector; that of the rotation, or subspaces · width, unless given.
    lost : float32 array, optional
        Which share of the vectors' squared lengths coding lost in each sub-space, as measured in training.

    Examples
    --------
    >>> book = Codebook(np.arange(2 * 16 * 2, dtype=np.float32).reshape(2, 16, 2), dim=3)
    >>> book.subspaces, book.width, book.bits, book
    (2, 2, 4, Codebook(2 sub-spaces of 2 dimensions, 4 bits))
    """

    def __init__(
        self,
        centroids: Float32Array,
        rotation: Float32Array | None = None,
        *,
        dim: int | None = None,
        lost: Float32Array | None = None,
    ):
        for name, given in (("centroids", centroids), ("rotation", rotation), ("lost", lost)):
            check_type(name, given, (np.ndarray, type(None)), "an array")
        self.centroids = centroids
        self.rotation = None if rotation is None else aligned(rotation)
        self._check_centroids()
        self.dim = int(dim if dim is not None else self.wide if rotation is None else rotation.shape[-1])
        least = max(1, self.wide - 2 * self.subspaces + 1)  # two numbers of a sub-space may be fillers
        if not least <= self.dim <= self.wide:
            wanted = f"from {least} to {self.wide}"
            raise InputError(f"`dim` must be {wanted} for centroids of shape {centroids.shape}. Got {self.dim}.")
        self._check_rotation()
        self.lost = lost
        if lost is not None and (
            lost.shape != (self.subspaces,) or not (np.isfinite(lost).all() and (lost >= 0).all())
        ):
            raise InputError(f"`lost` must be {self.subspaces} finite numbers of at least 0. Got others.")

    @property
    def subspaces(self) -> int:
        """How many sub-spaces there are: M."""
        return int(self.centroids.shape[0])

    @property
    def width(self) -> int:
        """The dimensions of a sub-space."""
        return int(self.centroids.shape[2])

    @property
    def wide(self) -> int:
        """The length of a vector once it is rotated."""
        return self.subspaces * self.width

    @property
    def bits(self) -> int:
        """The bits of a code: 4 or 8."""
        return 8 if self.centroids.shape[1] == CENTROIDS_BY_BITS[8] else 4

    @cached_property
    def marked(self) -> bool:
        """Whether the last dimension marks items, as `marked_index` makes it, and stands for none of a vector's.

        Then every sub-space ends with a row of zeros in the rotation, but for one, which leads to that dimension alone.
        """
        if self.rotation is None:
            return False
        last = self.rotation.reshape(self.subspaces, self.width, self.dim)[:, -1]
        return self.dim > 1 and np.count_nonzero(last) == 1 and bool(last[:, -1].any())

    @cached_property
    def transposed(self) -> Float32Array:
        """The centroids as a search reads them: sub-spaces × width × centroids."""
        return aligned(self.centroids.transpose(0, 2, 1))

    @property
    def nbytes(self) -> int:
        """Bytes of centroids, as they came and as a search reads them, and of the rotation."""
        return int(2 * self.centroids.nbytes + (0 if self.rotation is None else self.rotation.nbytes))

    def __repr__(self) -> str:
        return f"Codebook({self.subspaces} sub-spaces of {self.width} dimensions, {self.bits} bits)"

    def with_centroids(self, centroids: Float32Array) -> Self:
        """Return the same rotation with other centroids of the same shape."""
        given: Float32Array = as_array("centroids", centroids, np.float32)
        if given.shape != self.centroids.shape:
            raise InputError(f"`centroids` must have shape {self.centroids.shape}. Got {given.shape}.")
        return type(self)(given, self.rotation, dim=self.dim, lost=self.lost)

    def rotated(self, rows: Float32Array) -> Float32Array:
        """Return vectors in the codebook's own dimensions, a row each, by one thread of Faiss's matrix product."""
        if self.rotation is None:
            wide = np.zeros((len(rows), self.wide), np.float32)
            wide[:, : self.dim] = rows
            return wide
        with faiss_threads(1):
            rotated: Float32Array = self._turn().apply(np.ascontiguousarray(rows, np.float32))
        return rotated

    def rotated_back(self, rows: Float32Array) -> Float32Array:
        """Return vectors in the dimensions they came with."""
        if self.rotation is None:
            return np.ascontiguousarray(rows[:, : self.dim])
        back: Float32Array = np.matmul(rows, self.rotation, dtype=np.float32)
        return back

    def assigned(self, rows: Float32Array) -> NDArray[np.uint8]:
        """Return the nearest centroid of every piece of every vector: vectors × subspaces."""
        return self.assigned_pieces(self.rotated(rows))

    def assigned_pieces(self, rotated: Float32Array) -> NDArray[np.uint8]:
        """Return the same for vectors that are rotated already."""
        quantizer = self._quantizer()
        with faiss_threads(1):
            codes: NDArray[np.uint8] = quantizer.compute_codes(rotated)
        return codes if self.bits == 8 else unpacked(codes)

    def assigned_alone(self, rows: Float32Array) -> NDArray[np.uint8]:
        """Return the same, each vector by itself: no code depends on which vectors are coded together."""
        quantizer, turn = self._quantizer(), None if self.rotation is None else self._turn()
        wide = rows if turn is not None else self.rotated(rows)
        codes = np.zeros((len(rows), self.subspaces * self.bits // 8), np.uint8)
        with faiss_threads(1):
            for at in range(len(rows)):
                row = np.ascontiguousarray(wide[at : at + 1], np.float32)
                codes[at] = quantizer.compute_codes(row if turn is None else turn.apply(row))
        return codes if self.bits == 8 else unpacked(codes)

    def decoded(self, codes: NDArray[np.uint8]) -> Float32Array:
        """Return the vectors that codes, one a sub-space, stand for."""
        pieces = self.centroids[np.arange(self.subspaces), codes]
        return self.rotated_back(pieces.reshape(len(codes), self.wide))

    def write(self, writer: ArtifactWriter) -> None:
        """Store the arrays among an artifact's files."""
        writer.array("centroids", self.centroids)
        if self.rotation is not None:
            writer.array("rotation", self.rotation)
        if self.lost is not None:
            writer.array("lost", self.lost)

    @classmethod
    def read(cls, reader: ArtifactReader, dim: int) -> Self:
        """Read what `write` stored."""
        rotated, measured = (f"{name}.npy" in reader.manifest.files for name in ("rotation", "lost"))
        rotation = reader.array("rotation", np.float32, ndim=2) if rotated else None
        lost = reader.array("lost", np.float32) if measured else None
        return cls(reader.array("centroids", np.float32, ndim=3), rotation, dim=dim, lost=lost)

    def _turn(self) -> Any:
        faiss = load_faiss()

        turn = faiss.LinearTransform(self.dim, self.wide)
        faiss.copy_array_to_vector(np.ascontiguousarray(self.rotation, np.float32).reshape(-1), turn.A)
        turn.is_trained = True
        return turn

    def _quantizer(self) -> Any:
        faiss = load_faiss()

        quantizer = faiss.ProductQuantizer(self.wide, self.subspaces, self.bits)
        faiss.copy_array_to_vector(np.ascontiguousarray(self.centroids).reshape(-1), quantizer.centroids)
        return quantizer

    def _check_centroids(self) -> None:
        given = self.centroids
        if (
            given.dtype != np.float32
            or given.ndim != 3
            or given.shape[1] not in CENTROIDS_BY_BITS.values()
            or 0 in given.shape
        ):
            wanted = "float32 of shape sub-spaces × 16 or 256 × width"
            raise InputError(f"`centroids` must be {wanted}. Got {given.dtype} of shape {given.shape}.")
        if self.subspaces > MAX_SUBSPACES or (self.bits == 4 and self.subspaces % 2):
            wanted = f"an even number (4 bits) of at most {MAX_SUBSPACES} sub-spaces"
            raise InputError(f"`centroids` must have {wanted}. Got {self.subspaces}.")
        if not np.isfinite(given).all():
            raise InputError("`centroids` must hold finite numbers. Got NaN or infinity.")

    def _check_rotation(self) -> None:
        turn = self.rotation
        if turn is None:
            return
        if turn.dtype != np.float32 or turn.shape != (self.wide, self.dim):
            wanted = f"float32 of shape {(self.wide, self.dim)}"
            raise InputError(f"`rotation` must be {wanted}. Got {turn.dtype} of shape {turn.shape}.")
        if not np.isfinite(turn).all():
            raise InputError("`rotation` must hold finite numbers. Got NaN or infinity.")
        apart = float(np.abs(turn.T @ turn - np.eye(self.dim, dtype=np.float32)).max())
        if not apart <= MAX_ROTATION_ERROR:
            raise InputError(f"`rotation` must have orthonormal columns. Got some that are {apart:.3g} away from it.")


def unpacked(packed: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return two codes of 4 bits for every byte, the lower half first.

    Examples
    --------
    >>> unpacked(np.array([[0x21, 0x43]], np.uint8)).tolist()
    [[1, 2, 3, 4]]
    """
    return np.stack([packed & 15, packed >> 4], axis=-1).reshape(*packed.shape[:-1], 2 * packed.shape[-1])


def packed(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return one byte for every two codes of 4 bits.

    Examples
    --------
    >>> packed(np.array([[1, 2, 3, 4]], np.uint8)).tolist() == [[0x21, 0x43]]
    True
    """
    pairs = codes.reshape(*codes.shape[:-1], codes.shape[-1] // 2, 2)
    bytes: NDArray[np.uint8] = pairs[..., 0] | (pairs[..., 1] << np.uint8(4))
    return bytes


ITEMS_PER_BLOCK = 64
"""Items whose codes lie side by side: a line of the cache."""


class PqCodes:
    """Codes of all items, in the layout of a scan or, for graphs, one row per item.

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
        Bits per code.

    Examples
    --------
    >>> codes = PqCodes.of(np.array([[1, 2], [3, 4], [5, 6]], np.uint8), bits=4)
    >>> codes.stored.shape, codes.take(np.array([2, 0])).tolist()
    ((1, 1, 64), [[5, 6], [1, 2]])
    >>> codes.in_rows().stored.shape
    (3, 1, 1)
    """

    def __init__(self, stored: Uint8Array, count: int, *, bits: int):
        self.stored, self.count, self.bits = np.ascontiguousarray(stored), count, bits
        if stored.dtype != np.uint8 or stored.ndim != 3 or stored.shape[2] not in (ITEMS_PER_BLOCK, 1):
            wanted = f"uint8, blocks × bytes × {ITEMS_PER_BLOCK}, or items × bytes × 1"
            raise InputError(f"`codes` must be {wanted}. Got {stored.dtype} of shape {stored.shape}.")
        if not 0 <= count <= MAX_ITEMS or len(stored) != -(-count // self.side) or not stored.shape[1]:
            raise InputError(f"`codes` must be those of {count} items. Got shape {stored.shape}.")
        if bits not in (8, 4):
            raise InputError(f"`bits` must be 8 or 4. Got {bits!r}.")

    @classmethod
    def of(cls, codes: Uint8Array, *, bits: int) -> Self:
        """Store codes that come as items × subspaces."""
        given: Uint8Array = as_array("codes", codes, np.uint8)
        if given.ndim != 2 or not given.shape[1] or (bits == 4 and given.shape[1] % 2):
            raise InputError(f"`codes` must be items × sub-spaces, an even number for 4 bits. Got {given.shape}.")
        if bits == 4 and given.max(initial=0) > 15:
            raise InputError(f"`codes` of 4 bits must be at most 15. Got {given.max()}.")
        room = cls.room(len(given), given.shape[1], bits=bits)
        room.put(0, given)
        return room

    @classmethod
    def room(cls, count: int, subspaces: int, *, bits: int) -> Self:
        """Return zeros for a number of items, to be filled by `put`."""
        return cls(
            zeros_in_lines((-(-count // ITEMS_PER_BLOCK), subspaces * bits // 8, ITEMS_PER_BLOCK), np.uint8),
            count,
            bits=bits,
        )

    def put(self, first: int, codes: Uint8Array) -> None:
        """Write the codes of items from `first` on, given as items × subspaces."""
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
    def subspaces(self) -> int:
        """Codes of an item."""
        return int(self.stored.shape[1]) * (8 // self.bits)

    @property
    def nbytes(self) -> int:
        """Bytes of all codes."""
        return int(self.stored.nbytes)

    def take(self, items: NDArray[Any] | slice) -> Uint8Array:
        """Return the codes of these items, one a sub-space: items × subspaces."""
        numbers = np.arange(self.count)[items]
        found = self.stored[numbers // self.side, :, numbers % self.side]
        return found if self.bits == 8 else unpacked(found)
