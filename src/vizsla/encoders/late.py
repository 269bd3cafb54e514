"""Token vectors for late interaction: stored per item, and an encoder that makes one vector per word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.terminal import progress
from vizsla.artifacts.artifact import Artifact
from vizsla.base.encoder import Encoder, check_texts, checked_rows
from vizsla.core.sparse import are_offsets
from vizsla.core.strings import Strings
from vizsla.core.validation import check_type, validate_args
from vizsla.encoders.batching import ReadTexts
from vizsla.encoders.persistence import read_encoder, write_encoder
from vizsla.encoders.resumable import remove_encoding, resumable_tokens
from vizsla.encoders.token_encoder import TokenEncoder, TokenRows, check_gives_tokens, checked_tokens
from vizsla.errors import FormatError, InputError, check_choice
from vizsla.indexes.vectors import ItemVectors
from vizsla.text.analyzers import Analyzer
from vizsla.text.streams import TextStream, batches
from vizsla.typing import Float32Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

STORAGES = ("float16", "int8", "float32")


class TokenVectors(Artifact):
    """A vector for every token of every item, with the items' ids; memory-mapped when loaded.

    Parameters
    ----------
    ids : Strings
        Item ids.
    offsets : int64 array
        Where each item's tokens begin, and where the last one's end.
    stored : ItemVectors
        The tokens' vectors: float16, one byte a number, or float32.
    fingerprint : str
        The encoder's.
    texts : str, optional
        A checksum of the texts that were encoded, by which others are told from them.

    Examples
    --------
    >>> stored = ItemVectors.of(np.eye(3), storage="float16")
    >>> TokenVectors(Strings.of(["a", "b"]), np.array([0, 1, 3]), stored, "function:mine:3")
    TokenVectors(2 items, 3 tokens, 3 dimensions, float16)
    """

    kind = "token-vectors"

    @validate_args
    def __init__(
        self, ids: Strings, offsets: NDArray[np.int64], stored: ItemVectors, fingerprint: str, texts: str | None = None
    ):
        check_type("offsets", offsets, np.ndarray, "an array")
        if not are_offsets(offsets, len(stored), rows=len(ids)):
            raise InputError(f"`offsets` must rise from 0 to {len(stored)}, an item a step. Got others.")
        self.ids, self.offsets, self.stored, self.fingerprint, self.texts = ids, offsets, stored, fingerprint, texts

    @classmethod
    @validate_args
    def build(cls, items: Any, encoder: Any, *, ids: Iterable[str] | None = None, storage: str = "float16") -> Self:
        """Encode a catalog in memory; `encode` writes one that is larger, and goes on where it was stopped.

        Parameters
        ----------
        items, ids, storage
            As in `encode`.
        encoder : Encoder
            One that gives token vectors.
        """
        check_choice("storage", storage, STORAGES)
        check_gives_tokens(encoder)
        stream = TextStream(items, ids)
        read = ReadTexts(stream)
        parts = list(_encoded(encoder, read))
        counts = np.concatenate([[0], *(np.diff(part.offsets) for part in parts)])
        rows = np.concatenate([np.zeros((0, encoder.dim), np.float32), *(part.rows for part in parts)])
        stored = ItemVectors.of(rows, storage=storage)
        return cls(stream.ids, np.cumsum(counts), stored, encoder.fingerprint, read.checksum)

    @classmethod
    @validate_args
    def encode(
        cls,
        items: Any,
        encoder: Any,
        path: str | Path,
        *,
        ids: Iterable[str] | None = None,
        storage: str = "float16",
        overwrite: bool = False,
    ) -> Self:
        """Encode a catalog to an artifact at `path`; after a kill or Ctrl-C, the same call continues.

        Parameters
        ----------
        items
            A Dataset, a mapping of id to text, texts, or (id, text) pairs.
        encoder : Encoder
            One that gives token vectors: an OnnxEncoder, a SentenceEncoder, a WordEncoder.
        path : path
            The artifact's folder. Until it stands, rows gather in the folder `path` + ".encoding".
        ids : iterable of str, optional
            Ids for texts that have none.
        storage : {"float16", "int8", "float32"}
            How numbers are kept: a byte each halves float16's size again.
        overwrite : bool
            Replace an artifact that is there already.
        """
        check_choice("storage", storage, STORAGES)
        check_gives_tokens(encoder)
        if Path(path).exists() and not overwrite:
            raise InputError(f"`path` must be new. Got {path}, which is there: use overwrite=True to replace it.")
        stream, working = TextStream(items, ids), Path(f"{path}.encoding")
        # Bytes need to know the widths of all dimensions, so they are made of float16 at the end.
        gathered = "float32" if storage == "float32" else "float16"
        read = ReadTexts(stream)
        offsets, rows = resumable_tokens(encoder, read, working, storage=gathered)
        stored = ItemVectors.of(rows, storage=storage)
        cls(stream.ids, offsets, stored, encoder.fingerprint, read.checksum).save(path, overwrite=overwrite)
        remove_encoding(working)
        return cls.load(path, verify=False)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return self.stored.dim

    @property
    def nbytes(self) -> int:
        """Bytes of vectors and offsets."""
        return int(self.stored.nbytes + self.offsets.nbytes)

    def item(self, number: int) -> Float32Array:
        """Return the vectors of one item's tokens."""
        return self.stored.take(slice(int(self.offsets[number]), int(self.offsets[number + 1])))

    def __repr__(self) -> str:
        tokens = f"{len(self.stored):,} tokens, {self.dim:,} dimensions, {self.stored.storage}"
        return f"TokenVectors({len(self):,} items, {tokens})"

    def _write(self, writer: ArtifactWriter) -> None:
        writer.parameters(encoder_fingerprint=self.fingerprint, texts=self.texts)
        writer.catalog("items", self.ids)
        writer.array("offsets", self.offsets)
        self.stored.write(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        parts = reader.catalog("items"), reader.array("offsets", np.int64), ItemVectors.read(reader)
        # Tokens that were stored before there was a checksum have none.
        known = "texts" in reader.manifest.parameters
        texts = reader.parameter("texts", (str, type(None))) if known else None
        try:
            return cls(*parts, reader.parameter("encoder_fingerprint", str), texts)
        except InputError as error:
            raise FormatError(f"{reader.path / 'offsets.npy'}: {error}") from error


def _encoded(encoder: Any, texts: Iterable[str]) -> Iterator[TokenRows]:
    for batch in progress(batches(texts), what="encoding"):
        yield checked_tokens(encoder, encoder.item_tokens(batch), len(batch))


class WordEncoder(TokenEncoder, Artifact):
    """Encodes every word as a text of its own: late interaction without a transformer.

    Parameters
    ----------
    base : Encoder
        A dense encoder; asked for whole texts, the answer is its own.
    analyzer : Analyzer, optional
        How texts are cut; into lower-case words unless given.

    Examples
    --------
    >>> from vizsla.base.encoder import FunctionEncoder
    >>> letters = FunctionEncoder(lambda texts: [[t.count("f"), t.count("r")] for t in texts], dim=2, name="fr")
    >>> WordEncoder(letters).item_tokens(["a ripe fig"]).rows.tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    """

    kind = "word-encoder"

    @validate_args
    def __init__(self, base: Encoder, analyzer: Analyzer | None = None):
        if base.sparse:
            raise InputError("`base` must give dense vectors. Got a sparse encoder.")
        self.base, self.analyzer = base, analyzer or Analyzer()

    def _live_parts(self) -> Iterable[Any]:
        return (self.base,)

    def __repr__(self) -> str:
        return f"WordEncoder({self.base!r})"

    @property
    def dim(self) -> int:
        """The base's dimensions."""
        return self.base.dim

    @property
    def fingerprint(self) -> str:
        """Changes with the base and with the analyzer."""
        return f"words:{sorted(self.analyzer.to_dict().items())}:{self.base.fingerprint}"

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
        return self.analyzer(text)

    def with_encoder(self, encoder: Encoder) -> WordEncoder:
        """Return the same over its base, given back where a load could not bring it."""
        if encoder.fingerprint != self.base.fingerprint:
            raise InputError(f"`encoder` must be {self.base.fingerprint!r}. Got {encoder.fingerprint!r}.")
        return WordEncoder(encoder, self.analyzer)

    def _tokens(self, texts: Sequence[str], encode: Any) -> TokenRows:
        words = [self.analyzer(text) for text in check_texts(texts)]
        known = sorted({word for row in words for word in row})
        nothing = np.zeros((0, self.dim), np.float32)
        vectors: Float32Array = checked_rows(self.base, encode(known), len(known)) if known else nothing
        place = {word: at for at, word in enumerate(known)}
        chosen = [np.array([place[word] for word in row], np.int64) for row in words]
        return TokenRows.of([vectors[numbers] for numbers in chosen], dim=self.dim)

    def _write(self, writer: ArtifactWriter) -> None:
        write_encoder(writer, self.base)
        self.analyzer.write(writer, "analyzer")

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        return cls(read_encoder(reader), Analyzer.from_dict(reader.json("analyzer")))
