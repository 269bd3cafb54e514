"""HnswPqIndex: a graph of near neighbours over codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla.errors import FormatError, InputError
from vizsla.indexes.faiss_storage import load_faiss
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
        self._walk_over(graph, _storage(codes, codebook), ef=ef)

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
        """Bytes of codes, with Faiss's copy, codebooks and the graph."""
        return super().nbytes + len(self) * self.bytes + self.graph.nbytes

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
    """Return the codes as Faiss holds them, a row an item: a copy, which is little beside the graph."""
    faiss = load_faiss()

    storage = faiss.IndexPQ(book.wide, book.parts, 8, faiss.METRIC_INNER_PRODUCT)
    faiss.copy_array_to_vector(np.ascontiguousarray(book.centroids).reshape(-1), storage.pq.centroids)
    storage.is_trained = True
    if len(codes):
        storage.add_sa_codes(codes.take(slice(None)))
    return storage
