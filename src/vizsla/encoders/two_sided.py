"""TwoSidedEncoder: one encoder for queries, another one for items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from vizsla.artifact import Artifact
from vizsla.encoder import Encoder
from vizsla.encoders.reference import read_encoder, write_encoder
from vizsla.errors import InputError

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.queries import Queries


class TwoSidedEncoder(Encoder, Artifact):
    """Queries go through one encoder, items through another of the same width: what training one side leaves.

    Parameters
    ----------
    asking : Encoder
        For queries.
    answering : Encoder
        For items.

    Examples
    --------
    >>> from vizsla.encoder import FunctionEncoder
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
