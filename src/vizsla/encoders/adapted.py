"""AdaptedEncoder: an encoder whose query vectors go through a matrix that was learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.artifact import Artifact
from vizsla.cached_property import cached_property
from vizsla.encoder import Encoder
from vizsla.encoders.reference import read_encoder, write_encoder
from vizsla.errors import InputError
from vizsla.indexes.dots import pair_dots
from vizsla.indexes.item_vectors import ItemVectors

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.queries import Queries

Floats = NDArray[np.float32]


class AdaptedEncoder(Encoder, Artifact):
    """Query vectors are the base's times a matrix, plus a constant; item vectors are the base's own.

    Parameters
    ----------
    base : Encoder
        A dense encoder.
    adapter : float32 array, dimensions × the base's dimensions
        A query ``q`` becomes ``adapter @ q``; a row may be given the same bits in any batch. Where it has more rows
        than columns, items have zeros in the dimensions that come after the base's.
    constant : float32 array, optional
        Added to every query that says something.

    Examples
    --------
    >>> from vizsla.encoder import FunctionEncoder
    >>> letters = FunctionEncoder(lambda texts: [[t.count("a"), t.count("b")] for t in texts], dim=2, name="ab")
    >>> swapped = AdaptedEncoder(letters, np.array([[0, 1], [1, 0]], np.float32))
    >>> swapped.queries(["aab"]).tolist(), swapped.items(["aab"]).tolist()
    ([[1.0, 2.0]], [[2.0, 1.0]])
    """

    kind = "adapted-encoder"

    def __init__(self, base: Encoder, adapter: Floats, constant: Floats | None = None):
        if base.sparse:
            raise InputError("`base` must give dense vectors. Got a sparse encoder.")
        _check("adapter", adapter, (max(len(adapter), base.dim) if adapter.ndim else 0, base.dim))
        if constant is not None:
            _check("constant", constant, (len(adapter),))
        self.base, self.adapter, self.constant = base, np.ascontiguousarray(adapter), constant
        self._rows = ItemVectors.of(self.adapter)

    @property
    def dim(self) -> int:
        """The base's dimensions, or more where the matrix gives more."""
        return len(self.adapter)

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the base and with the matrix."""
        flat: Any = self.adapter.reshape(-1).view(np.uint8)
        if self.constant is not None:
            flat = np.concatenate([flat, np.ascontiguousarray(self.constant).view(np.uint8)])
        return f"adapted:{_native.checksum(flat):016x}:{self.base.fingerprint}"

    @property
    def nbytes(self) -> int:
        """Bytes of the matrix and of the base."""
        return int(self.adapter.nbytes + self.base.nbytes)

    def _byte_counts(self) -> dict[Any, int]:
        return {**self.base._byte_counts(), self.fingerprint: self.adapter.nbytes}

    def __repr__(self) -> str:
        return f"AdaptedEncoder({self.base!r})"

    def queries(self, texts: Sequence[str]) -> Floats:
        """Encode query texts with the base and adapt them."""
        return self.adapted(np.asarray(self.base.queries(texts), np.float32))

    def items(self, texts: Sequence[str]) -> Any:
        """Encode item texts as the base does, with zeros in further dimensions."""
        rows = self.base.items(texts)
        more = self.dim - self.base.dim
        return np.pad(np.asarray(rows, np.float32), ((0, 0), (0, more))) if more else rows

    def encoded(self, queries: Queries) -> Floats:
        """Adapt what the base made of a call's queries."""
        return self.adapted(np.asarray(queries.encoded(self.base), np.float32))

    def adapted(self, rows: Floats) -> Floats:
        """Return the adapted rows of query vectors; a row of zeros stays so."""
        numbers = np.repeat(np.arange(len(rows), dtype=np.int64), self.dim)
        columns = np.tile(np.arange(self.dim, dtype=np.int32), len(rows))
        found: Floats = pair_dots(rows, numbers, self._rows, columns).reshape(len(rows), self.dim)
        return found if self.constant is None else found + np.any(rows != 0, axis=1, keepdims=True) * self.constant

    def with_encoder(self, encoder: Encoder) -> AdaptedEncoder:
        """Return the same adapter over its base, given back where a load could not bring it."""
        if encoder.fingerprint != self.base.fingerprint:
            wanted = f"the base that was adapted ({self.base.fingerprint!r})"
            raise InputError(f"`encoder` must be {wanted}. Got {encoder.fingerprint!r}.")
        return AdaptedEncoder(encoder, self.adapter, self.constant)

    def _write(self, writer: ArtifactWriter) -> None:
        write_encoder(writer, self.base)
        writer.array("adapter", self.adapter)
        if self.constant is not None:
            writer.array("constant", self.constant)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        constant = reader.array("constant", np.float32) if "constant.npy" in reader.manifest.files else None
        return cls(read_encoder(reader), reader.array("adapter", np.float32, ndim=2), constant)


def _check(name: str, array: Floats, shape: tuple[int, ...]) -> None:
    if array.shape != shape or array.dtype != np.float32:
        raise InputError(f"`{name}` must be float32 of shape {shape}. Got {array.dtype} of shape {array.shape}.")
    if not np.isfinite(array).all():
        raise InputError(f"`{name}` must hold finite numbers. Got NaN or infinity.")
