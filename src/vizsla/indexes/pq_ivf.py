"""IvfPqIndex: codes in lists around centres, of which a search reads the nearest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates, Numbers, Scores
from vizsla.filter import Filter
from vizsla.indexes.faiss_storage import load_faiss, view_of
from vizsla.indexes.item_vectors import Floats, ItemVectors
from vizsla.indexes.list_reading import ListReading, Lists
from vizsla.indexes.pq import PqIndex
from vizsla.indexes.pq_codebook import Codebook
from vizsla.indexes.pq_codes import PqCodes
from vizsla.indexes.pq_listed import ListedCodes
from vizsla.indexes.pq_structure import PqStructure

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


class IvfPqIndex(ListReading, PqStructure):
    """An inverted file over k-means lists of codes, on Faiss. Codes are of the vectors, not of their rests.

    Codes lie in memory in the order of the lists, where Faiss looks at them; the file holds them in that of the items.

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
        self.stored_codes = self._listed = ListedCodes.listed(codes, lists)
        self._fill(self._empty(), self._listed.take)
        self._holds_once = _looking_at(self._faiss.invlists, self._listed, lists)

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
        """Bytes of codes, lists with each item's number, codebooks and centres; and of an older Faiss's own codes."""
        copied = 0 if self._holds_once else self.bytes * len(self)
        return super().nbytes + copied + 8 * len(self) + self.lists.nbytes + self.centres.nbytes

    def flat(self) -> PqIndex:
        """Return the exact twin: a scan over a copy of the codes, in the order of the items."""
        return PqIndex(self._codes_in_order(), self.codebook, coder=self.coder)

    def _empty(self) -> Any:
        """Return Faiss's lists without their codes."""
        faiss = load_faiss()

        book, metric = self.codebook, faiss.METRIC_INNER_PRODUCT
        self._quantizer = faiss.IndexFlatIP(book.wide)  # holds nothing: lists are chosen by us
        index = faiss.IndexIVFPQ(self._quantizer, book.wide, len(self.centres), book.parts, 8, metric)
        index.by_residual = False
        faiss.copy_array_to_vector(np.ascontiguousarray(book.centroids).reshape(-1), index.pq.centroids)
        return index

    def _exactly(self, rows: Floats, k: int, filter: Filter | None, threads: int) -> Candidates:
        """Answer as the exact twin does; under a filter only the codes of allowed items are put in order."""
        if filter is None:
            return super()._exactly(rows, k, filter, threads)
        some = PqIndex(self._listed.in_order(filter.numbers), self.codebook)
        found = some._search(rows, k, None, threads)
        return Candidates.trusted(found.offsets, filter.numbers[found.items], found.scores, None, found.stats)

    def _pairs(self, rows: Floats, numbers: NDArray[np.int64], items: Numbers) -> Scores:
        return super()._pairs(rows, numbers, self._listed.places[items])

    def _with(self, codes: PqCodes, codebook: Codebook) -> Self:
        return type(self)(codes, codebook, self.centres.rows, self.lists, coder=self.coder, probes=self.probes)

    def _coded_anew(self, codes: PqCodes, codebook: Codebook) -> Self:
        wider = ((0, 0), (0, codebook.dim - self.dim))  # a dimension of marks says nothing about lists
        return type(self)(codes, codebook, np.pad(self.centres.rows, wider), self.lists, probes=self.probes)

    def _codes_in_order(self) -> PqCodes:
        return self._listed.in_order()

    def _write(self, writer: ArtifactWriter) -> None:
        super()._write(writer)
        self._write_lists(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        lists = Lists.read(reader)
        codes, book, coder = cls._read_parts(reader)
        return cls(codes, book, lists.centres, lists.members, coder=coder, probes=lists.probes)


def _looking_at(lists: Any, codes: ListedCodes, members: Numbers) -> bool:
    """Let Faiss's lists look at the codes as they lie, and say whether it can; an older one keeps its copy."""
    faiss = load_faiss()

    kind, many = getattr(faiss, "MaybeOwnedVectorUInt8", None), getattr(faiss, "MaybeOwnedVectorUInt8Vector", None)
    if kind is None or many is None:
        return False
    ends = np.cumsum(np.bincount(members, minlength=lists.nlist))
    views, one = many(), kind()
    for rows in np.split(codes.stored, ends[:-1]):
        views.push_back(view_of(rows.reshape(-1), one) if len(rows) else one)
    faiss.downcast_InvertedLists(lists).codes.swap(views)
    return True
