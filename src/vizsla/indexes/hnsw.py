"""HnswIndex: a graph of near neighbours, walked from the top."""

from __future__ import annotations

import math
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import FormatError, InputError, check_positive
from vizsla.filter import Filter
from vizsla.indexes.approximate import check_whole
from vizsla.indexes.approximate_stored import ApproximateStoredIndex
from vizsla.indexes.faiss_storage import (
    SELECTOR,
    bounded,
    empty_storage,
    full_storage,
    in_threads,
    load_faiss,
    selector,
    with_faiss_threads,
)
from vizsla.indexes.hnsw_graph import LEAST_LINKS, MOST_LINKS, HnswGraph
from vizsla.indexes.item_vectors import Floats, ItemVectors, blocks
from vizsla.progress import progress

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

MOST_EF = 1 << 20
SPARE_VIEW = 0.6
"""The part of a view that can be spared when a mask forbids some of it: half the items cost 1.4 times the view."""
SCANNED = 1.5
"""Items that a scan reads in the time in which a walk looks at one neighbour of one item in view: rows in a line come
faster from memory than rows here and there. Measured on squad-sent: a walk scores 0.6 M items for each in view, a scan
is 2.5 times as fast an item."""
BLOCK = 1 << 17
"""Numbers handed to Faiss at once: what bounds the memory, and how long Ctrl-C waits."""


class HnswIndex(ApproximateStoredIndex):
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
        self._kept: tuple[int, Any] | None = None

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

        how = self._how(k, filter)

        def part(given: Floats) -> NDArray[np.int64]:
            numbers, scores = np.empty((len(given), k), np.int64), np.empty((len(given), k), np.float32)
            parts = [faiss.swig_ptr(array) for array in (given, scores, numbers)]
            self._faiss.search_c(len(given), parts[0], k, *parts[1:], how)
            return numbers

        return in_threads(part, rows, threads)

    def _how(self, k: int, filter: Filter | None) -> Any:
        """Return the search's parameters as Faiss takes them; those of the last unfiltered search are kept."""
        view = self._view(k, len(self) if filter is None else filter.count)
        if filter is not None:
            return load_faiss().SearchParametersHNSW(efSearch=view, sel=filter.form(SELECTOR, selector))
        kept = self._kept
        if kept is None or kept[0] != view:
            kept = self._kept = view, load_faiss().SearchParametersHNSW(efSearch=view)
        return kept[1]

    def _view(self, k: int, reachable: int) -> int:
        """Return how many items to keep in view, more as a mask narrows: only those that are allowed count."""
        times = len(self) / max(1, reachable)
        return min(max(self.ef, k, math.ceil(max(self.ef * (times - SPARE_VIEW), k * times))), len(self))

    def _pays(self, k: int, reachable: int) -> bool:
        if reachable == len(self):
            return reachable <= max(self.ef, k)
        return reachable <= SCANNED * self.graph.m * self._view(k, reachable)

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
