"""HnswIndex: a graph of near neighbours, walked from the top."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import FormatError, InputError
from vizsla.filter import Filter
from vizsla.indexes.approximate import ApproximateIndex, check_whole
from vizsla.indexes.faiss_storage import SELECTOR, empty_storage, faiss_threads, full_storage, load_faiss, selector
from vizsla.indexes.hnsw_graph import HnswGraph
from vizsla.indexes.item_vectors import Floats, ItemVectors, blocks
from vizsla.progress import progress

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

MOST_EF = 1 << 20
BLOCK = 1 << 17
"""Numbers handed to Faiss at once: what bounds the memory, and how long Ctrl-C waits."""


class HnswIndex(ApproximateIndex):
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
        self.ef = check_whole("ef", ef, MOST_EF)
        if len(graph.levels) != len(vectors):
            raise InputError(f"`graph` must be over {len(vectors)} items. Got one over {len(graph.levels)}.")
        self.graph = graph
        self._storage = full_storage(vectors)
        self._faiss = graph.to_faiss(self._storage)

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
            Neighbours of an item on the upper levels, and half of those on the lowest.
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
        built = faiss.IndexHNSW(below, check_whole("M", M, 512))
        built.hnsw.efConstruction = check_whole("ef_construction", ef_construction, MOST_EF)
        with faiss_threads(check_whole("threads", threads, 1024)):
            for start, end in progress(blocks(len(stored), stored.dim, size=BLOCK), what="linking"):
                built.add(np.ascontiguousarray(stored.take(slice(start, end))))
        graph = HnswGraph.from_faiss(built, M, ef_construction)
        del built, below  # Faiss's copy of the vectors: from here on it looks at ours
        return cls(stored, graph, ef=ef)

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors and the graph."""
        return int(self.stored.nbytes + self.graph.nbytes)

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
        view = self.ef if filter is None else self._masked_ef(filter.count)
        how = faiss.SearchParametersHNSW(efSearch=min(max(view, k), len(self)), sel=chosen)
        with faiss_threads(threads):
            numbers: NDArray[np.int64] = self._faiss.search(rows, k, params=how)[1]
        return numbers

    def _masked_ef(self, reachable: int) -> int:
        """Widen the view as the mask narrows, so that as many allowed items are in it as without a mask."""
        return -(-self.ef * len(self) // max(1, reachable))

    def _pays(self, k: int, reachable: int) -> bool:
        if reachable == len(self):
            return reachable <= max(self.ef, k)
        # A walk scores about M items for each in view; scanning the allowed ones is then no slower, and exact.
        return reachable <= max(k, self._masked_ef(reachable) * self.graph.m)

    def _write(self, writer: ArtifactWriter) -> None:
        writer.parameters(ef=self.ef)
        self.stored.write(writer)
        self.graph.write(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        try:
            return cls(ItemVectors.read(reader), HnswGraph.read(reader), ef=reader.parameter("ef", int))
        except InputError as error:
            raise FormatError(f"{reader.path}: {error}") from error
