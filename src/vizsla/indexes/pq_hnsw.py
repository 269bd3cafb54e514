"""HnswPqIndex: a graph of near neighbours over codes."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import FormatError, InputError
from vizsla.filter import Filter
from vizsla.indexes.approximate import check_whole
from vizsla.indexes.faiss_storage import SELECTOR, in_threads, load_faiss, selector, view_of
from vizsla.indexes.hnsw import MOST_EF, HnswIndex
from vizsla.indexes.hnsw_graph import HnswGraph
from vizsla.indexes.item_vectors import Floats
from vizsla.indexes.pq import PqIndex
from vizsla.indexes.pq_codebook import Codebook
from vizsla.indexes.pq_codes import PqCodes
from vizsla.indexes.pq_structure import PqStructure

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


class HnswPqIndex(PqStructure):
    """HNSW whose items are codes. The graph is built over the vectors themselves, which are then let go.

    Parameters
    ----------
    codes, codebook, coder
        As in `PqIndex`.
    graph : HnswGraph
        The neighbours of every item.
    ef : int
        How many items a search keeps in view.
    """

    kind = "hnswpq"

    def __init__(
        self, codes: PqCodes, codebook: Codebook, graph: HnswGraph, *, coder: Codebook | None = None, ef: int = 300
    ):
        super().__init__(codes, codebook, coder=coder)
        self.graph, self.ef = graph, check_whole("ef", ef, MOST_EF)
        if len(graph.levels) != len(codes):
            raise InputError(f"`graph` must be over {len(codes)} items. Got one over {len(graph.levels)}.")
        self._storage = _storage(codes, codebook)
        self._faiss = graph.to_faiss(self._storage)

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

    @property
    def options(self) -> dict[str, Any]:
        """What `build` was given, so that other vectors can be indexed alike."""
        return super().options | {"M": self.graph.m, "ef_construction": self.graph.ef_construction, "ef": self.ef}

    @property
    def effort(self) -> int:
        """How many items a search keeps in view: `ef`."""
        return self.ef

    def with_effort(self, effort: int) -> Self:
        """Return the same index, sharing all arrays, that keeps so many items in view when it searches."""
        other = copy(self)
        other.ef = check_whole("effort", effort, MOST_EF)
        return other

    def _propose(self, rows: Floats, k: int, filter: Filter | None, threads: int) -> NDArray[np.int64]:
        faiss = load_faiss()

        chosen = None if filter is None else filter.form(SELECTOR, selector)
        view = HnswIndex._view(self, k, len(self) if filter is None else filter.count)  # type: ignore[arg-type]
        how = faiss.SearchParametersHNSW(efSearch=view, sel=chosen)

        def part(given: Floats) -> NDArray[np.int64]:
            numbers: NDArray[np.int64] = self._faiss.search(self._turned(given), k, params=how)[1]
            return numbers

        return in_threads(part, rows, threads)

    def _pays(self, k: int, reachable: int) -> bool:
        return HnswIndex._pays(self, k, reachable)  # type: ignore[arg-type]

    def _view(self, k: int, reachable: int) -> int:
        return HnswIndex._view(self, k, reachable)  # type: ignore[arg-type]

    def _with(self, codes: PqCodes, codebook: Codebook) -> Self:
        return type(self)(codes, codebook, self.graph, coder=self.coder, ef=self.ef)

    def _write(self, writer: ArtifactWriter) -> None:
        super()._write(writer)
        writer.parameters(ef=self.ef)
        self.graph.write(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        try:
            codes, book, coder = cls._read_parts(reader)
            return cls(codes, book, HnswGraph.read(reader), coder=coder, ef=reader.parameter("ef", int))
        except InputError as error:
            raise FormatError(f"{reader.path}: {error}") from error


def _storage(codes: PqCodes, book: Codebook) -> Any:
    """Return the codes as Faiss holds them, where they lie: they must outlive it."""
    faiss = load_faiss()

    storage = faiss.IndexPQ(book.wide, book.parts, 8, faiss.METRIC_INNER_PRODUCT)
    faiss.copy_array_to_vector(np.ascontiguousarray(book.centroids).reshape(-1), storage.pq.centroids)
    storage.is_trained = True
    if len(codes) and (view := view_of(codes.stored.reshape(-1), storage.codes)) is not None:
        storage.codes, storage.ntotal = view, len(codes)
    elif len(codes):
        storage.add_sa_codes(codes.stored)
    return storage
