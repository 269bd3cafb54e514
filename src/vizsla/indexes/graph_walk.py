"""GraphWalk: searching by a walk over an HNSW graph, whatever its items are stored as."""

from __future__ import annotations

import math
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError
from vizsla.filter import Filter
from vizsla.indexes.approximate import ApproximateIndex, check_whole
from vizsla.indexes.faiss_storage import SELECTOR, in_threads, load_faiss, selector
from vizsla.indexes.hnsw_graph import HnswGraph
from vizsla.indexes.item_vectors import Floats

MOST_EF = 1 << 20
SPARE_VIEW = 0.6
"""The part of a view that can be spared when a mask forbids some of it: half the items cost 1.4 times the view."""
SCANNED = 1.5
"""Items that a scan reads in the time in which a walk looks at one neighbour of one item in view: rows in a line come
faster from memory than rows here and there. Measured on squad-sent: a walk scores 0.6 M items for each in view, a scan
is 2.5 times as fast an item."""


class GraphWalk(ApproximateIndex):
    """What HNSW over vectors and over codes share: how far a walk looks, and how Faiss is asked to walk."""

    graph: HnswGraph
    ef: int

    def _walk_over(self, graph: HnswGraph, storage: Any, *, ef: int) -> None:
        """Take the graph, and the items as Faiss holds them."""
        if len(graph.levels) != len(self):
            raise InputError(f"`graph` must be over {len(self)} items. Got one over {len(graph.levels)}.")
        self.graph, self.ef = graph, check_whole("ef", ef, MOST_EF)
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
        """Return the same index, sharing all arrays, that keeps so many items in view when it searches."""
        other = copy(self)
        other.ef = check_whole("effort", effort, MOST_EF)
        return other

    def _propose(self, rows: Floats, k: int, filter: Filter | None, threads: int) -> NDArray[np.int64]:
        if filter is None:
            k = min(k, self.ef)  # Faiss would look at more for a longer list, and find others
        faiss, how = load_faiss(), self._how(k, filter)

        def part(given: Floats) -> NDArray[np.int64]:
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
        return reachable <= SCANNED * self.graph.m * self._view(k, reachable)
