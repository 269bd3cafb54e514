"""IvfPqIndex: codes in lists around centres, of which a search reads the nearest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla.candidates import Numbers
from vizsla.indexes.faiss_storage import load_faiss
from vizsla.indexes.item_vectors import Floats, ItemVectors
from vizsla.indexes.list_reading import ListReading, Lists
from vizsla.indexes.pq import PqIndex
from vizsla.indexes.pq_codebook import Codebook
from vizsla.indexes.pq_codes import PqCodes
from vizsla.indexes.pq_structure import PqStructure

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


class IvfPqIndex(ListReading, PqStructure):
    """An inverted file over k-means lists of codes, on Faiss. Codes are of the vectors, not of their rests.

    Parameters
    ----------
    codes, codebook, coder
        As in `PqIndex`.
    centres : float32 array, lists × dimensions
        The lists' centres.
    lists : int32 array
        Each item's list.
    probes : int
        How many lists a search reads.
    """

    kind = "ivfpq"

    def __init__(
        self,
        codes: PqCodes,
        codebook: Codebook,
        centres: Floats,
        lists: Numbers,
        *,
        coder: Codebook | None = None,
        probes: int,
    ):
        super().__init__(codes, codebook, coder=coder)
        self._take_lists(Lists(centres, lists, probes), codebook.dim)
        self._fill(self._empty(), codes.take(slice(None)))

    @classmethod
    def build(
        cls,
        vectors: Any,
        *,
        lists: int | None = None,
        probes: int | None = None,
        recall: float = 0.99,
        seed: int = 0,
        **coding: Any,
    ) -> Self:
        """Index vectors, a row an item.

        Parameters
        ----------
        vectors : array, items × dimensions
            Read in blocks.
        lists, probes, recall
            As in `IvfIndex.build`.
        seed : int
            Fixes what is random.
        **coding
            As in `PqIndex.build`; `bits` must be 8.
        """
        coded, stored = PqIndex.build(vectors, seed=seed, **coding), ItemVectors.of(vectors)
        made = Lists.built(stored, lists, probes, recall=recall, rounds=20, seed=seed)
        return cls(coded.stored_codes, coded.codebook, made.centres, made.members, probes=made.probes)

    @property
    def nbytes(self) -> int:
        """Bytes of codes, with Faiss's copy and each item's number in it, codebooks and centres."""
        return super().nbytes + (self.bytes + 8) * len(self) + self.centres.nbytes

    def _empty(self) -> Any:
        """Return Faiss's lists without their codes."""
        faiss = load_faiss()

        book, metric = self.codebook, faiss.METRIC_INNER_PRODUCT
        self._quantizer = faiss.IndexFlatIP(book.wide)
        self._quantizer.add(np.zeros((len(self.centres), book.wide), np.float32))  # lists are chosen by us
        index = faiss.IndexIVFPQ(self._quantizer, book.wide, len(self.centres), book.parts, 8, metric)
        index.by_residual = False
        faiss.copy_array_to_vector(np.ascontiguousarray(book.centroids).reshape(-1), index.pq.centroids)
        return index

    def _with(self, codes: PqCodes, codebook: Codebook) -> Self:
        return type(self)(codes, codebook, self.centres.rows, self.lists, coder=self.coder, probes=self.probes)

    def _write(self, writer: ArtifactWriter) -> None:
        super()._write(writer)
        self._write_lists(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        lists = Lists.read(reader)
        codes, book, coder = cls._read_parts(reader)
        return cls(codes, book, lists.centres, lists.members, coder=coder, probes=lists.probes)
