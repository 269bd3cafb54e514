"""Encoders whose query side differs from the item side: an adapter, or a second model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla import _native
from vizsla._internal.lazy import cached_property
from vizsla.artifacts.artifact import Artifact
from vizsla.base.encoder import Encoder
from vizsla.encoders.persistence import read_encoder, write_encoder
from vizsla.errors import InputError
from vizsla.indexes.vectors import ItemVectors, pair_dots
from vizsla.typing import Float32Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.base.queries import Queries


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
    >>> from vizsla.base.encoder import FunctionEncoder
    >>> letters = FunctionEncoder(lambda texts: [[t.count("a"), t.count("b")] for t in texts], dim=2, name="ab")
    >>> swapped = AdaptedEncoder(letters, np.array([[0, 1], [1, 0]], np.float32))
    >>> swapped.queries(["aab"]).tolist(), swapped.items(["aab"]).tolist()
    ([[1.0, 2.0]], [[2.0, 1.0]])
    """

    kind = "adapted-encoder"

    def __init__(self, base: Encoder, adapter: Float32Array, constant: Float32Array | None = None):
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

    def _live_parts(self) -> Iterable[Any]:
        return (self.base,)

    def __repr__(self) -> str:
        return f"AdaptedEncoder({self.base!r})"

    def queries(self, texts: Sequence[str]) -> Float32Array:
        """Encode query texts with the base and adapt them."""
        return self.adapted(np.asarray(self.base.queries(texts), np.float32))

    def items(self, texts: Sequence[str]) -> Any:
        """Encode item texts as the base does, with zeros in further dimensions."""
        rows = self.base.items(texts)
        more = self.dim - self.base.dim
        return np.pad(np.asarray(rows, np.float32), ((0, 0), (0, more))) if more else rows

    def encoded(self, queries: Queries) -> Float32Array:
        """Adapt what the base made of a call's queries."""
        return self.adapted(np.asarray(queries.encoded(self.base), np.float32))

    def adapted(self, rows: Float32Array) -> Float32Array:
        """Return the adapted rows of query vectors; a row of zeros stays so."""
        numbers = np.repeat(np.arange(len(rows), dtype=np.int64), self.dim)
        columns = np.tile(np.arange(self.dim, dtype=np.int32), len(rows))
        found: Float32Array = pair_dots(rows, numbers, self._rows, columns).reshape(len(rows), self.dim)
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


def _check(name: str, array: Float32Array, shape: tuple[int, ...]) -> None:
    if array.shape != shape or array.dtype != np.float32:
        raise InputError(f"`{name}` must be float32 of shape {shape}. Got {array.dtype} of shape {array.shape}.")
    if not np.isfinite(array).all():
        raise InputError(f"`{name}` must hold finite numbers. Got NaN or infinity.")


class TwoSidedEncoder(Encoder, Artifact):
    """Two encoders of the same width, one for queries and one for items, as after training one side.

    Parameters
    ----------
    asking : Encoder
        For queries.
    answering : Encoder
        For items.

    Examples
    --------
    >>> from vizsla.base.encoder import FunctionEncoder
    >>> lengths = FunctionEncoder(lambda texts: [[len(t)] for t in texts], dim=1, name="length")
    >>> words = FunctionEncoder(lambda texts: [[len(t.split())] for t in texts], dim=1, name="words")
    >>> both = TwoSidedEncoder(lengths, words)
    >>> both.queries(["a fig"]).tolist(), both.items(["a fig"]).tolist()
    ([[5.0]], [[2.0]])
    """

    kind = "two-sided-encoder"

    def __init__(self, asking: Encoder, answering: Encoder):
        if asking.sparse or answering.sparse or asking.dim != answering.dim:
            raise InputError(f"Both encoders must be dense and of one width. Got {asking!r} and {answering!r}.")
        self.asking, self.answering = asking, answering

    @property
    def dim(self) -> int:
        """The width of both."""
        return self.asking.dim

    @property
    def fingerprint(self) -> str:
        """Changes with either side."""
        return f"two-sided:{self.asking.fingerprint}:{self.answering.fingerprint}"

    @property
    def nbytes(self) -> int:
        """Bytes of the side that queries go through."""
        return self.asking.nbytes

    def _byte_counts(self) -> dict[Any, int]:
        return self.asking._byte_counts()

    def _live_parts(self) -> Iterable[Any]:
        return (
            self.asking,
            self.answering,
        )

    def __repr__(self) -> str:
        return f"TwoSidedEncoder({self.asking!r}, {self.answering!r})"

    def queries(self, texts: Sequence[str]) -> Any:
        """Encode query texts."""
        return self.asking.queries(texts)

    def items(self, texts: Sequence[str]) -> Any:
        """Encode item texts."""
        return self.answering.items(texts)

    def encoded(self, queries: Queries) -> Any:
        """Return what the query side made of a call's queries."""
        return queries.encoded(self.asking)

    def _write(self, writer: ArtifactWriter) -> None:
        write_encoder(writer, self.asking)
        write_encoder(writer, self.answering, name="items")

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        return cls(read_encoder(reader), read_encoder(reader, name="items"))
