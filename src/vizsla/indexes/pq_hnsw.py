"""HnswPqIndex: a graph of near neighbours over codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla.indexes.faiss_storage import load_faiss, view_of
from vizsla.indexes.graph_walk import GraphWalk
from vizsla.indexes.hnsw import HnswIndex
from vizsla.indexes.hnsw_graph import HnswGraph
from vizsla.indexes.pq import PqIndex
from vizsla.indexes.pq_codebook import Codebook
from vizsla.indexes.pq_codes import PqCodes
from vizsla.indexes.pq_structure import PqStructure

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


class HnswPqIndex(GraphWalk, PqStructure):
    """HNSW whose items are codes. The graph is built over the vectors themselves, which are then let go.

    Codes lie a row an item, as the walk reads them: Faiss looks at them where they are, in memory or in a mapped file.

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

    storage = faiss.IndexPQ(book.wide, book.parts, 8, faiss.METRIC_INNER_PRODUCT)
    faiss.copy_array_to_vector(np.ascontiguousarray(book.centroids).reshape(-1), storage.pq.centroids)
    storage.is_trained = True
    if len(codes) and (view := view_of(codes.stored.reshape(-1), storage.codes)) is not None:
        storage.codes, storage.ntotal = view, len(codes)
    elif len(codes):
        storage.add_sa_codes(codes.take(slice(None)))
    return storage
