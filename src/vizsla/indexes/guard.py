"""Guard: a byte for each number of a vector, and how far from the vector these bytes are at most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.candidates import Numbers
from vizsla.errors import FormatError, InputError
from vizsla.indexes.cache_lines import zeros_in_lines
from vizsla.indexes.flat_search import Found
from vizsla.indexes.item_vectors import Floats, ItemVectors, blocks

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

LANES = 16
"""A row is filled up with zeros to a multiple of this."""
FILES = ("guard_codes", "guard_scales", "guard_errors")


class Guard:
    """Coarse rows that say who cannot be among the best, so that few vectors are read in full.

    A vector is its scale times its bytes, plus a rest. By Cauchy and Schwarz the rest moves a score by no more than the
    query's length times its own, which is stored: `errors`.

    Parameters
    ----------
    codes : int8 array, items × dimensions, filled up to a multiple of 16
        Whole numbers from -127 to 127.
    scales : float32 array
        What a step is worth in each row.
    errors : float32 array
        The length of what the bytes leave out of each row, rounded up.

    Examples
    --------
    >>> guard = Guard.of(ItemVectors.of([[3.0, 4.0], [1.0, 0.5]]))
    >>> guard.codes[:, :2].tolist()
    [[95, 127], [127, 64]]
    """

    def __init__(self, codes: NDArray[np.int8], scales: Floats, errors: Floats):
        self.codes, self.scales, self.errors = codes, scales, errors
        if codes.ndim != 2 or codes.dtype != np.int8 or codes.shape[1] % LANES or not codes.flags.c_contiguous:
            wanted = f"int8, items × a multiple of {LANES}"
            raise InputError(f"The guard's codes must be {wanted}. Got {codes.dtype} of shape {codes.shape}.")
        for name, part in (("scales", scales), ("errors", errors)):
            if part.shape != (len(codes),) or not (np.isfinite(part).all() and (part >= 0).all()):
                raise InputError(f"The guard's {name} must be {len(codes)} finite numbers of at least 0. Got others.")

    @classmethod
    def of(cls, vectors: ItemVectors) -> Self:
        """Make bytes of stored vectors."""
        if vectors.storage == "int8":
            raise InputError("`guarded` must be False for storage 'int8'. Got True: its rows are bytes already.")
        count, width = len(vectors), -(-vectors.dim // LANES) * LANES
        codes = zeros_in_lines((count, width), np.int8)
        scales, errors = np.zeros(count, np.float32), np.zeros(count, np.float32)
        for start, end in blocks(count, vectors.dim, size=1 << 20):
            rows = vectors.take(slice(start, end)).astype(np.float64)
            scale = (np.abs(rows).max(axis=1) / 127).astype(np.float32)
            steps = np.where(scale > 0, scale, 1).astype(np.float64)[:, None]
            whole = np.clip(np.rint(rows / steps), -127, 127)
            rest = np.linalg.norm(rows - whole * scale[:, None].astype(np.float64), axis=1)
            codes[start:end, : vectors.dim] = whole
            scales[start:end] = scale
            errors[start:end] = np.nextafter((rest * (1 + 1e-9)).astype(np.float32), np.float32(np.inf))
        return cls(codes, scales, errors)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return int(self.codes.nbytes + self.scales.nbytes + self.errors.nbytes)

    def search(self, queries: Floats, vectors: ItemVectors, k: int, numbers: Numbers | None, threads: int) -> Found:
        """Return what `flat_search` returns, to the last bit; `reads` counts the vectors that were scored in full."""
        offsets, items, scores, scored = _native.search_guarded(
            queries, vectors.rows, self.codes, self.scales, self.errors, vectors.longest, k, numbers, threads
        )
        return Found(
            np.frombuffer(offsets, np.int64), np.frombuffer(items, np.int32), np.frombuffer(scores, np.float32), scored
        )

    def write(self, writer: ArtifactWriter) -> None:
        """Store the arrays among an artefact's files."""
        writer.array(FILES[0], self.codes)
        writer.array(FILES[1], self.scales)
        writer.array(FILES[2], self.errors)

    @classmethod
    def read(cls, reader: ArtifactReader) -> Self | None:
        """Read what `write` stored; None where nothing is."""
        if f"{FILES[0]}.npy" not in reader.manifest.files:
            return None
        codes = reader.array(FILES[0], np.int8, ndim=2)
        try:
            return cls(codes, *(reader.array(name, np.float32) for name in FILES[1:]))
        except InputError as error:
            raise FormatError(f"{reader.path / FILES[0]}.npy: {error}") from error
