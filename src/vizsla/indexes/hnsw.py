"""HnswIndex: a graph of near neighbours, walked from the top."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla.errors import check_positive
from vizsla.indexes.approximate import check_whole
from vizsla.indexes.approximate_stored import ApproximateStoredIndex
from vizsla.indexes.faiss_storage import bounded, empty_storage, full_storage, load_faiss, with_faiss_threads
from vizsla.indexes.graph_walk import MOST_EF, GraphWalk
from vizsla.indexes.hnsw_graph import LEAST_LINKS, MOST_LINKS, HnswGraph
from vizsla.indexes.item_vectors import ItemVectors, blocks
from vizsla.progress import progress

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

BLOCK = 1 << 17
"""Numbers handed to Faiss at once: what bounds the memory, and how long Ctrl-C waits."""


class HnswIndex(GraphWalk, ApproximateStoredIndex):
    """Hierarchical navigable small world search (Malkov and Yashunin, 2018) on Faiss, by inner product.

    The file holds vectors and graph as plain arrays, each of which is checked before Faiss sees it; Faiss's own format
    is not used, because Faiss trusts what it reads. Faiss looks at the arrays where they lie, in a mapped file too.

    Parameters
    ----------
    vectors : ItemVectors
        The items' vectors as they are stored.
    graph : HnswGraph
        The neighbours of every item.
    ef : int
        How many items a search keeps in view: more finds more, and takes longer.

    Examples
    --------
    >>> vectors = np.random.default_rng(0).standard_normal((2000, 16), dtype=np.float32)
    >>> index = HnswIndex.build(vectors, M=8, ef_construction=40, ef=50)
    >>> found, exact = index.search(vectors[:1], 5), index.search(vectors[:1], 5, exact=True)
    >>> found == exact
    True
    """

    kind = "hnsw"

    def __init__(self, vectors: ItemVectors, graph: HnswGraph, *, ef: int = 300):
        super().__init__(vectors)
        self._walk_over(graph, full_storage(vectors), ef=ef)

    @classmethod
    def build(
        cls,
        vectors: Any,
        *,
        storage: str | None = None,
        M: int = 32,
        ef_construction: int = 500,
        ef: int = 300,
        threads: int = 1,
    ) -> Self:
        """Index vectors, a row an item.

        Parameters
        ----------
        vectors : array, items × dimensions
            Added in blocks, so that a memory-mapped array may be larger than memory.
        storage : {"float32", "float16", "int8"}, optional
            How to keep them; the graph is built over what is kept.
        M : int
            Neighbours of an item on the upper levels, and half of those on the lowest; at least 2.
        ef_construction : int
            How many items are kept in view while the neighbours of a new one are sought.
        ef : int
            The same for searching.
        threads : int
            With 1, the same vectors give the same graph; more build faster, each time another graph.
        """
        faiss = load_faiss()

        stored = ItemVectors.of(vectors, storage=storage)
        below = empty_storage(stored)
        built = faiss.IndexHNSW(below, check_whole("M", M, MOST_LINKS, least=LEAST_LINKS))
        built.hnsw.efConstruction = check_whole("ef_construction", ef_construction, MOST_EF)
        count = bounded(check_positive("threads", threads), len(stored))
        for start, end in progress(blocks(len(stored), stored.dim, size=BLOCK), what="linking"):
            rows = np.ascontiguousarray(stored.take(slice(start, end)))
            with_faiss_threads(partial(built.add, rows), count)
        graph = HnswGraph.from_faiss(built, M, ef_construction)
        del built, below  # Faiss's copy of the vectors: from here on it looks at ours
        return cls(stored, graph, ef=ef)

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors and the graph, with the place of each item's neighbours, which Faiss holds."""
        return int(self.stored.nbytes + self.graph.nbytes)

    def _write(self, writer: ArtifactWriter) -> None:
        writer.parameters(ef=self.ef)
        self.stored.write(writer)
        self.graph.write(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        return cls(ItemVectors.read(reader), HnswGraph.read(reader), ef=reader.parameter("ef", int))
