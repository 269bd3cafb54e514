"""HnswIndex: approximate search in a neighbor graph."""

from __future__ import annotations

import math
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.terminal import progress
from vizsla.data.filter import Filter
from vizsla.errors import InputError, check_positive
from vizsla.indexes._faiss import (
    SELECTOR,
    bounded,
    empty_storage,
    full_storage,
    in_threads,
    load_faiss,
    selector,
    view_of,
    with_faiss_threads,
)
from vizsla.indexes.approximate import ApproximateIndex, ApproximateStoredIndex, check_whole
from vizsla.indexes.vectors import ItemVectors, blocks
from vizsla.typing import Float32Array, Int32Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

MIN_LINKS, MAX_LINKS = 2, 512
"""With one link an item the levels would never end."""


class HnswGraph:
    """The neighbor lists. Every number is checked, because Faiss does not check them.

    Parameters
    ----------
    m : int
        Neighbors of an item on a level above the lowest, which has twice as many.
    ef_construction : int
        Effort of the construction of the graph.
    levels : int32 array
        On how many levels an item is.
    neighbors : int32 array
        Item after item, level after level from the lowest: as many places as the level has, -1 where one is free.
    entry : int
        The item where a search begins: one that is on the most levels; -1 without items.
    """

    def __init__(self, m: int, ef_construction: int, levels: Int32Array, neighbors: Int32Array, entry: int):
        self.m = check_whole("M", m, MAX_LINKS, least=MIN_LINKS)
        self.ef_construction = check_whole("ef_construction", ef_construction, 1 << 20)
        self.levels, self.neighbors, self.entry = levels, neighbors, entry
        self._places = _places(m)
        self._check()

    @classmethod
    def from_faiss(cls, built: Any, m: int, ef_construction: int) -> Self:
        """Copy the graph out of a Faiss index."""
        faiss = load_faiss()

        hnsw = built.hnsw
        levels, neighbors = faiss.vector_to_array(hnsw.levels), faiss.vector_to_array(hnsw.neighbors)
        return cls(m, ef_construction, levels, neighbors, int(hnsw.entry_point))

    def to_faiss(self, storage: Any) -> Any:
        """Return a Faiss index with this graph over the storage; both must outlive it."""
        faiss = load_faiss()

        index = faiss.IndexHNSW(storage, self.m)
        hnsw, flat = index.hnsw, self.neighbors
        hnsw.efConstruction = self.ef_construction
        faiss.copy_array_to_vector(np.ascontiguousarray(self.levels), hnsw.levels)
        faiss.copy_array_to_vector(self._offsets().astype(np.uint64), hnsw.offsets)
        if len(flat) and (view := view_of(flat, hnsw.neighbors)) is not None:
            hnsw.neighbors = view
        elif len(flat):
            hnsw.neighbors.resize(len(flat))
            faiss.memcpy(hnsw.neighbors.data(), faiss.swig_ptr(np.ascontiguousarray(flat)), flat.nbytes)
        hnsw.entry_point, hnsw.max_level = self.entry, int(self.levels.max(initial=0)) - 1
        index.ntotal, index.is_trained = len(self.levels), True
        return index

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, and of the offsets into them that a walk looks up."""
        return int(self.levels.nbytes + self.neighbors.nbytes + 8 * (len(self.levels) + 1))

    def write(self, writer: ArtifactWriter) -> None:
        """Store the graph among an artifact's files."""
        writer.parameters(M=self.m, ef_construction=self.ef_construction, entry=self.entry)
        writer.array("levels", self.levels)
        writer.array("neighbors", self.neighbors)

    @classmethod
    def read(cls, reader: ArtifactReader) -> Self:
        """Read what `write` stored."""
        m, ef, entry = (reader.parameter(name, int) for name in ("M", "ef_construction", "entry"))
        return cls(m, ef, reader.array("levels", np.int32), reader.array("neighbors", np.int32), entry)

    def _offsets(self) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(self._places[self.levels])]).astype(np.int64)

    def _check(self) -> None:
        count, levels, flat = len(self.levels), self.levels, self.neighbors
        if count and not 1 <= levels.min() <= levels.max() < len(self._places):
            raise InputError(f"`levels` must be between 1 and {len(self._places) - 1}. Got others.")
        if len(flat) != self._offsets()[-1]:
            raise InputError(f"`neighbors` must have {self._offsets()[-1]} places. Got {len(flat)}.")
        if len(flat) and not -1 <= flat.min() <= flat.max() < count:
            raise InputError(f"`neighbors` must be items below {count}, or -1. Got others.")
        wanted = -1 <= self.entry < count and (self.entry >= 0) == (count > 0)
        if not wanted or (count and levels[self.entry] != levels.max()):
            raise InputError(f"`entry` must be an item on the highest level. Got {self.entry}.")
        self._check_upper()

    def _check_upper(self) -> None:
        """On an upper level, only items of that level may be neighbors: others have no places there to read."""
        offsets = self._offsets()
        for level in range(1, int(self.levels.max(initial=0))):
            owners = np.flatnonzero(self.levels > level)
            width = int(self._places[level + 1] - self._places[level])
            begins = offsets[owners] + int(self._places[level])
            named = self.neighbors[begins[:, None] + np.arange(width)]
            if (self.levels[named[named >= 0]] <= level).any():
                raise InputError(f"`neighbors` on level {level} must be on that level. Got others.")


def _places(m: int) -> NDArray[np.int64]:
    """Return how many places an item on 0, 1, 2, … levels has, as far as Faiss makes levels."""
    faiss = load_faiss()

    hnsw = faiss.HNSW(m)
    places: NDArray[np.int64] = faiss.vector_to_array(hnsw.cum_nneighbor_per_level).astype(np.int64)
    return places


MAX_EF = 1 << 20
SPARE_VIEW = 0.6
"""The part of a view that can be spared when a mask forbids some of it: half the items cost 1.4 times the view."""
SCAN_SPEEDUP = 1.5
"""Items that a scan reads in the time in which a walk looks at one neighbor of one item in view: rows in a line come
faster from memory than rows here and there. Measured on squad-sent: a walk scores 0.6 M items for each in view, a scan
is 2.5 times as fast an item."""


class HnswSearch(ApproximateIndex):
    """Base class of HNSW over vectors and over codes: `ef`, and the calls of Faiss."""

    graph: HnswGraph
    ef: int

    def _walk_over(self, graph: HnswGraph, storage: Any, *, ef: int) -> None:
        """Take the graph, and the items as Faiss holds them."""
        if len(graph.levels) != len(self):
            raise InputError(f"`graph` must be over {len(self)} items. Got one over {len(graph.levels)}.")
        self.graph, self.ef = graph, check_whole("ef", ef, MAX_EF)
        self._storage = storage  # Faiss looks at it where it lies
        self._faiss = graph.to_faiss(storage)
        self._kept: tuple[int, Any] | None = None

    @property
    def options(self) -> dict[str, Any]:
        """What `build` was given, so that other vectors can be indexed alike."""
        stored = super().options  # type: ignore[safe-super]  # of the class that stands beside this one
        return stored | {"M": self.graph.m, "ef_construction": self.graph.ef_construction, "ef": self.ef}

    @property
    def effort(self) -> int:
        """How many items a search keeps in view: `ef`."""
        return self.ef

    def with_effort(self, effort: int) -> Self:
        """Return the same index, sharing all arrays, with another `ef`."""
        other = copy(self)
        other.ef = check_whole("effort", effort, MAX_EF)
        return other

    def _propose(self, rows: Float32Array, k: int, filter: Filter | None, threads: int) -> NDArray[np.int64]:
        if filter is None:
            k = min(k, self.ef)  # Faiss would look at more for a longer list, and find others
        faiss, how = load_faiss(), self._how(k, filter)

        def part(given: Float32Array) -> NDArray[np.int64]:
            numbers, scores = np.empty((len(given), k), np.int64), np.empty((len(given), k), np.float32)
            arrays = (self._asked(given), scores, numbers)  # named: Faiss gets addresses
            parts = [faiss.swig_ptr(array) for array in arrays]
            self._faiss.search_c(len(given), parts[0], k, *parts[1:], how)
            return numbers

        return in_threads(part, rows, threads)

    def _how(self, k: int, filter: Filter | None) -> Any:
        """Return the search's parameters as Faiss takes them; those of the last unfiltered search are kept."""
        view = min(self.ef, len(self)) if filter is None else self._view(k, filter.count)
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
            return reachable <= self.ef
        return reachable <= SCAN_SPEEDUP * self.graph.m * self._view(k, reachable)


NUMBERS_PER_ADD = 1 << 17
"""Numbers handed to Faiss at once: what bounds the memory, and how long Ctrl-C waits."""


class HnswIndex(HnswSearch, ApproximateStoredIndex):
    """Hierarchical navigable small world search (Malkov and Yashunin, 2018) on Faiss, by inner product.

    The file holds vectors and graph as plain arrays, each of which is checked before Faiss sees it; Faiss's own format
    is not used, because Faiss trusts what it reads. Faiss looks at the arrays where they lie, in a mapped file too.

    Parameters
    ----------
    vectors : ItemVectors
        The items' vectors as they are stored.
    graph : HnswGraph
        The neighbors of every item.
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
            How to keep the vectors; the graph is built over what is kept.
        M : int
            Neighbors of an item on the upper levels, and half of those on the lowest; at least 2.
        ef_construction : int
            How many items are kept in view while the neighbors of a new one are sought.
        ef : int
            How many items a search keeps in view.
        threads : int
            With 1, the same vectors give the same graph; more build faster, each time another graph.
        """
        faiss = load_faiss()

        stored = ItemVectors.of(vectors, storage=storage)
        below = empty_storage(stored)
        built = faiss.IndexHNSW(below, check_whole("M", M, MAX_LINKS, least=MIN_LINKS))
        built.hnsw.efConstruction = check_whole("ef_construction", ef_construction, MAX_EF)
        count = bounded(check_positive("threads", threads), len(stored))
        for start, end in progress(blocks(len(stored), stored.dim, size=NUMBERS_PER_ADD), what="linking"):
            rows = np.ascontiguousarray(stored.take(slice(start, end)))
            with_faiss_threads(partial(built.add, rows), count)
        graph = HnswGraph.from_faiss(built, M, ef_construction)
        del built, below  # Faiss's copy of the vectors: from here on it looks at ours
        return cls(stored, graph, ef=ef)

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors and the graph, with the place of each item's neighbors, which Faiss holds."""
        return int(self.stored.nbytes + self.graph.nbytes)

    def _write(self, writer: ArtifactWriter) -> None:
        writer.parameters(ef=self.ef)
        self.stored.write(writer)
        self.graph.write(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        return cls(ItemVectors.read(reader), HnswGraph.read(reader), ef=reader.parameter("ef", int))
