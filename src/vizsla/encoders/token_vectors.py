"""TokenVectors: a catalogue's token vectors as an artefact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.arguments import check_type
from vizsla.artifact import Artifact
from vizsla.checked import checked
from vizsla.encoders.read_texts import ReadTexts
from vizsla.encoders.resume import remove_encoding
from vizsla.encoders.resume_tokens import resumable_tokens
from vizsla.encoders.token_encoder import Floats, TokenRows, check_gives_tokens, checked_tokens
from vizsla.errors import FormatError, InputError, check_choice
from vizsla.indexes.item_vectors import ItemVectors
from vizsla.offsets import are_offsets
from vizsla.progress import progress
from vizsla.strings import Strings
from vizsla.text.catalogue import TextStream
from vizsla.text.texts import batches

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

    @checked
    def __init__(
        self, ids: Strings, offsets: NDArray[np.int64], stored: ItemVectors, fingerprint: str, texts: str | None = None
    ):
        check_type("offsets", offsets, np.ndarray, "an array")
        if not are_offsets(offsets, len(stored), rows=len(ids)):
            raise InputError(f"`offsets` must rise from 0 to {len(stored)}, an item a step. Got others.")
        self.ids, self.offsets, self.stored, self.fingerprint, self.texts = ids, offsets, stored, fingerprint, texts

    @classmethod
    @checked
    def build(cls, items: Any, encoder: Any, *, ids: Iterable[str] | None = None, storage: str = "float16") -> Self:
        """Encode a catalogue in memory; `encode` writes one that is larger, and goes on where it was stopped.

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
    @checked
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
        """Encode a catalogue to an artefact at `path`; after a kill or Ctrl-C, the same call continues.

        Parameters
        ----------
        items
            A Dataset, a mapping of id to text, texts, or (id, text) pairs.
        encoder : Encoder
            One that gives token vectors: an OnnxEncoder, a SentenceEncoder, a WordEncoder.
        path : path
            The artefact's folder. Until it stands, rows gather in the folder `path` + ".encoding".
        ids : iterable of str, optional
            Ids for texts that have none.
        storage : {"float16", "int8", "float32"}
            How numbers are kept: a byte each halves float16's size again.
        overwrite : bool
            Replace an artefact that is there already.
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

    def item(self, number: int) -> Floats:
        """Return the vectors of one item's tokens."""
        return self.stored.take(slice(int(self.offsets[number]), int(self.offsets[number + 1])))

    def __repr__(self) -> str:
        tokens = f"{len(self.stored):,} tokens, {self.dim:,} dimensions, {self.stored.storage}"
        return f"TokenVectors({len(self):,} items, {tokens})"

    def _write(self, writer: ArtifactWriter) -> None:
        writer.parameters(encoder_fingerprint=self.fingerprint, texts=self.texts)
        writer.catalogue("items", self.ids)
        writer.array("offsets", self.offsets)
        self.stored.write(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        parts = reader.catalogue("items"), reader.array("offsets", np.int64), ItemVectors.read(reader)
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
