"""Vectors: a catalog's encoded items as an artifact."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.artifacts.artifact import Artifact
from vizsla.base.encoder import Encoder
from vizsla.base.placement import Placement
from vizsla.core.strings import Strings
from vizsla.core.validation import check_type, validate_args
from vizsla.data.dataset import Dataset
from vizsla.encoders.resumable import remove_encoding, resumable_encode
from vizsla.errors import FormatError, InputError
from vizsla.text.streams import TextStream

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


class Vectors(Artifact):
    """Rows of numbers with item ids, and the fingerprint of the encoder that made them; memory-mapped when loaded.

    Parameters
    ----------
    ids : Strings
        Item ids, one a row.
    rows : float16 or float32 array, items × dimensions
        The vectors.
    fingerprint : str
        The encoder's.

    Examples
    --------
    >>> vectors = Vectors(Strings.of(["fig"]), np.ones((1, 4), np.float16), "function:ones:4")
    >>> len(vectors), vectors.dim
    (1, 4)
    """

    kind = "vectors"

    @validate_args
    def __init__(self, ids: Strings, rows: NDArray[Any], fingerprint: str):
        check_type("rows", rows, np.ndarray, "an array")
        self.ids, self.rows, self.fingerprint = ids, rows, fingerprint
        if rows.ndim != 2 or rows.dtype not in (np.float16, np.float32) or len(rows) != len(ids):
            raise InputError(f"`rows` must be {len(ids)} rows of float16 or float32. Got {rows.dtype} {rows.shape}.")

    @classmethod
    @validate_args
    def encode(
        cls,
        items: Any,
        encoder: Encoder,
        path: str | Path,
        *,
        ids: Iterable[str] | None = None,
        storage: str = "float16",
        overwrite: bool = False,
        on: Placement | None = None,
    ) -> Self:
        """Encode a catalog to an artifact at `path`; after a kill or Ctrl-C, the same call continues.

        Rows gather in the folder `path` + ".encoding", which is removed when the artifact stands.

        Parameters
        ----------
        items
            A Dataset, a mapping of id to text, texts, or (id, text) pairs.
        encoder : Encoder
            A dense encoder.
        path : path
            The artifact's folder.
        ids : iterable of str, optional
            Ids for texts that have none.
        storage : {"float16", "float32"}
            How rows are kept.
        overwrite : bool
            Replace an artifact that is there already.
        on : Placement, optional
            Where batches are encoded; see `vizsla.scale.connect`.
        """
        if Path(path).exists() and not overwrite:
            raise InputError(f"`path` must be new. Got {path}, which is there: use overwrite=True to replace it.")
        stream, working = TextStream(items, ids), Path(f"{path}.encoding")
        count = len(items) if isinstance(items, Sized) else len(items.items) if isinstance(items, Dataset) else None
        rows = resumable_encode(encoder, stream, working, storage=storage, count=count, on=on)
        cls(stream.ids, rows, encoder.fingerprint).save(path, overwrite=overwrite)
        remove_encoding(working)
        return cls.load(path, verify=False)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def dim(self) -> int:
        """The length of a row."""
        return int(self.rows.shape[1])

    def __repr__(self) -> str:
        return f"Vectors({len(self):,} items, {self.dim:,} dimensions, {self.rows.dtype.name})"

    def _write(self, writer: ArtifactWriter) -> None:
        writer.parameters(encoder=self.fingerprint, storage=self.rows.dtype.name)
        writer.catalog("items", self.ids)
        writer.array("rows", self.rows)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        storage = reader.parameter("storage", str)
        if storage not in ("float16", "float32"):
            raise FormatError(f"{reader.path}: unknown storage {storage!r:.50}.")
        rows = reader.array("rows", storage, ndim=2)
        return cls(reader.catalog("items"), rows, reader.parameter("encoder", str))
