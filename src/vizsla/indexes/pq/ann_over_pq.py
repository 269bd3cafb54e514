"""HNSW and IVF structures over product-quantized vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.core.candidates import Candidates
from vizsla.data.filter import Filter
from vizsla.errors import InputError
from vizsla.indexes._faiss import load_faiss, view_of
from vizsla.indexes.approximate import ApproximateIndex
from vizsla.indexes.hnsw import HnswGraph, HnswIndex, HnswSearch
from vizsla.indexes.ivf import IvfSearch, Lists
from vizsla.indexes.pq.codebook import Codebook, PqCodes
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.indexes.vectors import ItemVectors, pair_dots
from vizsla.typing import Float32Array, Int32Array, Uint8Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


class PqStructure(ApproximateIndex, PqIndex):
    """Base class of HNSW and IVF over codes: 8-bit codes shared with Faiss, and the scores of `PqIndex`.

    Parameters
    ----------
    codes : PqCodes
        The items' codes, of 8 bits.
    codebook, coder : Codebook
        As in `PqIndex`.
    """

    takes_items = False

    def __init__(self, codes: PqCodes, codebook: Codebook, *, coder: Codebook | None = None):
        PqIndex.__init__(self, codes, codebook, coder=coder)
        if codes.bits != 8:
            raise InputError("`bits` must be 8 under HNSW and IVF. Got 4: use the index 'pq'.")

    def flat(self) -> PqIndex:
        """Return the exact twin: a scan over the same codes."""
        return PqIndex(self.stored_codes, self.codebook, coder=self.coder)

    def with_items(self, vectors: Any, *, threads: int = 1) -> Self:
        """Raise: the structure would have to be built again."""
        self._stay()

    def without_items(self, items: NDArray[Any]) -> Self:
        """Raise: the structure would have to be built again."""
        self._stay()

    def _search(self, rows: Float32Array, k: int, filter: Filter | None, threads: int) -> Candidates:
        return ApproximateIndex._search(self, rows, k, filter, threads)

    def _asked(self, rows: Float32Array) -> Float32Array:
        """Return queries in the codebook's own dimensions: the same bits alone and in a batch."""
        book = self.codebook
        if book.rotation is None:
            return np.ascontiguousarray(book.rotated(rows))
        count = len(rows)
        columns = np.tile(np.arange(book.wide, dtype=np.int32), count)
        dots = pair_dots(rows, np.repeat(np.arange(count), book.wide), ItemVectors.of(book.rotation), columns)
        return dots.reshape(count, book.wide)


class HnswPqIndex(HnswSearch, PqStructure):
    """HNSW over codes. The graph is built over the vectors, which are not kept.

    Codes lie a row an item, as the walk reads them: Faiss looks at them where they are, in memory or in a mapped file.

    Parameters
    ----------
    codes, codebook, coder
        As in `PqIndex`.
    graph : HnswGraph
        The neighbors of every item.
    ef : int
        How many items a search keeps in view.
    """

    kind = "hnswpq"

    def __init__(
        self, codes: PqCodes, codebook: Codebook, graph: HnswGraph, *, coder: Codebook | None = None, ef: int = 300
    ):
        super().__init__(codes.in_rows(), codebook, coder=coder)
        self._walk_over(graph, _storage(self.stored_codes, codebook), ef=ef)

    @classmethod
    def build(cls, vectors: Any, *, M: int = 32, ef_construction: int = 500, ef: int = 300, **coding: Any) -> Self:
        """Index vectors, a row an item.

        Parameters
        ----------
        vectors : array, items × dimensions
            What the graph is built over.
        M, ef_construction, ef
            As in `HnswIndex.build`.
        **coding
            As in `PqIndex.build`; `bits` must be 8.
        """
        coded = PqIndex.build(vectors, **coding)
        graph = HnswIndex.build(vectors, M=M, ef_construction=ef_construction, ef=ef).graph
        return cls(coded.stored_codes, coded.codebook, graph, ef=ef)

    @property
    def nbytes(self) -> int:
        """Bytes of codes, codebooks and the graph."""
        return super().nbytes + self.graph.nbytes

    def _with(self, codes: PqCodes, codebook: Codebook) -> Self:
        return type(self)(codes, codebook, self.graph, coder=self.coder, ef=self.ef)

    def _coded_anew(self, codes: PqCodes, codebook: Codebook) -> Self:
        return type(self)(codes, codebook, self.graph, ef=self.ef)

    def _write(self, writer: ArtifactWriter) -> None:
        super()._write(writer)
        writer.parameters(ef=self.ef)
        self.graph.write(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        codes, book, coder = cls._read_parts(reader)
        return cls(codes, book, HnswGraph.read(reader), coder=coder, ef=reader.parameter("ef", int))


def _storage(codes: PqCodes, book: Codebook) -> Any:
    """Return a Faiss index over the codes as they lie; an older one that cannot look at foreign memory gets a copy."""
    faiss = load_faiss()

    storage = faiss.IndexPQ(book.wide, book.subspaces, 8, faiss.METRIC_INNER_PRODUCT)
    faiss.copy_array_to_vector(np.ascontiguousarray(book.centroids).reshape(-1), storage.pq.centroids)
    storage.is_trained = True
    if len(codes) and (view := view_of(codes.stored.reshape(-1), storage.codes)) is not None:
        storage.codes, storage.ntotal = view, len(codes)
    elif len(codes):
        storage.add_sa_codes(codes.take(slice(None)))
    return storage


class ListedCodes(PqCodes):
    """8-bit codes, one row per item, ordered by list and by number within a list.

    Parameters
    ----------
    codes : PqCodes
        The items' codes.
    lists : int32 array
        Each item's list.

    Examples
    --------
    >>> codes = PqCodes.of(np.array([[1], [2], [3]], np.uint8), bits=8)
    >>> listed = ListedCodes(codes, np.array([1, 0, 1], np.int32))
    >>> listed.stored.ravel().tolist(), listed.take(slice(None)).ravel().tolist()
    ([2, 1, 3], [1, 2, 3])
    """

    def __init__(self, codes: PqCodes, lists: Int32Array):
        self.order = np.argsort(lists, kind="stable").astype(np.int32)
        self.places = np.empty_like(self.order)
        self.places[self.order] = np.arange(len(lists), dtype=np.int32)
        super().__init__(codes.take(self.order)[:, :, None], len(codes), bits=8)

    @classmethod
    def listed(cls, codes: PqCodes, lists: Int32Array) -> Self:
        """Return codes by these lists: themselves where they are so already."""
        return codes if isinstance(codes, cls) else cls(codes, lists)

    @property
    def nbytes(self) -> int:
        """Bytes of all codes, and of where each item's are."""
        return super().nbytes + self.order.nbytes + self.places.nbytes

    def take(self, items: NDArray[Any] | slice) -> Uint8Array:
        """Return the codes of these items: items × subspaces."""
        return super().take(self.places[items])

    def in_order(self, items: NDArray[Any] | slice = slice(None)) -> PqCodes:
        """Return a copy of these items' codes, in their order."""
        return PqCodes.of(self.take(items), bits=8)


class IvfPqIndex(IvfSearch, PqStructure):
    """An inverted file over k-means lists of codes, on Faiss. Codes are of the vectors, not of their rests.

    Codes lie in memory in the order of the lists, where Faiss looks at them; the file holds them in that of the items.

    Parameters
    ----------
    codes, codebook, coder
        As in `PqIndex`.
    centers : float32 array, lists × dimensions
        The lists' centers.
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
        centers: Float32Array,
        lists: Int32Array,
        *,
        coder: Codebook | None = None,
        probes: int,
    ):
        super().__init__(codes, codebook, coder=coder)
        self._take_lists(Lists(centers, lists, probes), codebook.dim)
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
        return cls(coded.stored_codes, coded.codebook, made.centers, made.members, probes=made.probes)

    @property
    def nbytes(self) -> int:
        """Bytes of codes, lists with each item's number, codebooks and centers; and of an older Faiss's own codes."""
        copied = 0 if self._holds_once else self.bytes * len(self)
        return super().nbytes + copied + 8 * len(self) + self.lists.nbytes + self.centers.nbytes

    def flat(self) -> PqIndex:
        """Return the exact twin: a scan over a copy of the codes, in the order of the items."""
        return PqIndex(self._codes_in_order(), self.codebook, coder=self.coder)

    def _empty(self) -> Any:
        """Return Faiss's lists without their codes."""
        faiss = load_faiss()

        book, metric = self.codebook, faiss.METRIC_INNER_PRODUCT
        self._quantizer = faiss.IndexFlatIP(book.wide)  # holds nothing: lists are chosen by us
        index = faiss.IndexIVFPQ(self._quantizer, book.wide, len(self.centers), book.subspaces, 8, metric)
        index.by_residual = False
        faiss.copy_array_to_vector(np.ascontiguousarray(book.centroids).reshape(-1), index.pq.centroids)
        return index

    def _exactly(self, rows: Float32Array, k: int, filter: Filter | None, threads: int) -> Candidates:
        """Answer as the exact twin does; under a filter only the codes of allowed items are put in order."""
        if filter is None:
            return super()._exactly(rows, k, filter, threads)
        some = PqIndex(self._listed.in_order(filter.numbers), self.codebook)
        found = some._search(rows, k, None, threads)
        return Candidates.unchecked(found.offsets, filter.numbers[found.items], found.scores, None, found.stats)

    def _pairs(self, rows: Float32Array, numbers: NDArray[np.int64], items: Int32Array) -> Float32Array:
        return super()._pairs(rows, numbers, self._listed.places[items])

    def _with(self, codes: PqCodes, codebook: Codebook) -> Self:
        return type(self)(codes, codebook, self.centers.rows, self.lists, coder=self.coder, probes=self.probes)

    def _coded_anew(self, codes: PqCodes, codebook: Codebook) -> Self:
        wider = ((0, 0), (0, codebook.dim - self.dim))  # a dimension of marks says nothing about lists
        return type(self)(codes, codebook, np.pad(self.centers.rows, wider), self.lists, probes=self.probes)

    def _codes_in_order(self) -> PqCodes:
        return self._listed.in_order()

    def _write(self, writer: ArtifactWriter) -> None:
        super()._write(writer)
        self._write_lists(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        lists = Lists.read(reader)
        codes, book, coder = cls._read_parts(reader)
        return cls(codes, book, lists.centers, lists.members, coder=coder, probes=lists.probes)


def _looking_at(lists: Any, codes: ListedCodes, members: Int32Array) -> bool:
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
