"""WordEncoder: any encoder's vectors, one for every word of a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla.artifact import Artifact
from vizsla.checked import checked
from vizsla.encoder import Encoder, check_texts, checked_rows
from vizsla.encoders.reference import read_encoder, write_encoder
from vizsla.encoders.token_encoder import Floats, TokenEncoder, TokenRows
from vizsla.errors import InputError
from vizsla.text.analyser import Analyser

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


class WordEncoder(TokenEncoder, Artifact):
    """Encodes every word as if it were a text: late interaction without a transformer.

    Parameters
    ----------
    base : Encoder
        A dense encoder; asked for whole texts, the answer is its own.
    analyser : Analyser, optional
        How texts are cut; into lower-case words unless given.

    Examples
    --------
    >>> from vizsla.encoder import FunctionEncoder
    >>> letters = FunctionEncoder(lambda texts: [[t.count("f"), t.count("r")] for t in texts], dim=2, name="fr")
    >>> WordEncoder(letters).item_tokens(["a ripe fig"]).rows.tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    """

    kind = "word-encoder"

    @checked
    def __init__(self, base: Encoder, analyser: Analyser | None = None):
        if base.sparse:
            raise InputError("`base` must give dense vectors. Got a sparse encoder.")
        self.base, self.analyser = base, analyser or Analyser()

    def __repr__(self) -> str:
        return f"WordEncoder({self.base!r})"

    @property
    def dim(self) -> int:
        """The base's dimensions."""
        return self.base.dim

    @property
    def fingerprint(self) -> str:
        """Changes with the base and with the analyser."""
        return f"words:{sorted(self.analyser.to_dict().items())}:{self.base.fingerprint}"

    @property
    def nbytes(self) -> int:
        """Bytes of the base."""
        return self.base.nbytes

    def _byte_counts(self) -> dict[Any, int]:
        return self.base._byte_counts()

    def queries(self, texts: Sequence[str]) -> Any:
        """Encode whole queries, as the base does."""
        return self.base.queries(texts)

    def items(self, texts: Sequence[str]) -> Any:
        """Encode whole items, as the base does."""
        return self.base.items(texts)

    def query_tokens(self, texts: Sequence[str]) -> TokenRows:
        """Return a vector for every word of the queries."""
        return self._tokens(texts, self.base.queries)

    def item_tokens(self, texts: Sequence[str]) -> TokenRows:
        """Return a vector for every word of the items."""
        return self._tokens(texts, self.base.items)

    def query_words(self, text: str) -> list[str]:
        """Return the query's words."""
        return self.analyser(text)

    def with_encoder(self, encoder: Encoder) -> WordEncoder:
        """Return the same over its base, given back where a load could not bring it."""
        if encoder.fingerprint != self.base.fingerprint:
            raise InputError(f"`encoder` must be {self.base.fingerprint!r}. Got {encoder.fingerprint!r}.")
        return WordEncoder(encoder, self.analyser)

    def _tokens(self, texts: Sequence[str], encode: Any) -> TokenRows:
        words = [self.analyser(text) for text in check_texts(texts)]
        known = sorted({word for row in words for word in row})
        nothing = np.zeros((0, self.dim), np.float32)
        vectors: Floats = checked_rows(self.base, encode(known), len(known)) if known else nothing
        place = {word: at for at, word in enumerate(known)}
        chosen = [np.array([place[word] for word in row], np.int64) for row in words]
        return TokenRows.of([vectors[numbers] for numbers in chosen], dim=self.dim)

    def _write(self, writer: ArtifactWriter) -> None:
        write_encoder(writer, self.base)
        self.analyser.write(writer, "analyser")

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        return cls(read_encoder(reader), Analyser.from_dict(reader.json("analyser")))
