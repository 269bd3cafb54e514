"""HnswGraph: the neighbours of every item on every level, as plain arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Numbers
from vizsla.errors import InputError
from vizsla.indexes.approximate import check_whole
from vizsla.indexes.faiss_storage import load_faiss, view_of

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

LEAST_LINKS, MOST_LINKS = 2, 512
"""With one link an item the levels would never end."""


class HnswGraph:
    """Who neighbours whom. Every number is checked: Faiss follows them without looking.

    Parameters
    ----------
    m : int
        Neighbours of an item on a level above the lowest, which has twice as many.
    ef_construction : int
        What the graph was built with.
    levels : int32 array
        On how many levels an item is.
    neighbours : int32 array
        Item after item, level after level from the lowest: as many places as the level has, -1 where one is free.
    entry : int
        The item where a search begins: one that is on the most levels; -1 without items.
    """

    def __init__(self, m: int, ef_construction: int, levels: Numbers, neighbours: Numbers, entry: int):
        self.m = check_whole("M", m, MOST_LINKS, least=LEAST_LINKS)
        self.ef_construction = check_whole("ef_construction", ef_construction, 1 << 20)
        self.levels, self.neighbours, self.entry = levels, neighbours, entry
        self._places = _places(m)
        self._check()

    @classmethod
    def from_faiss(cls, built: Any, m: int, ef_construction: int) -> Self:
        """Copy the graph out of a Faiss index."""
        faiss = load_faiss()

        hnsw = built.hnsw
        levels, neighbours = faiss.vector_to_array(hnsw.levels), faiss.vector_to_array(hnsw.neighbors)
        return cls(m, ef_construction, levels, neighbours, int(hnsw.entry_point))

    def to_faiss(self, storage: Any) -> Any:
        """Return a Faiss index with this graph over the storage; both must outlive it."""
        faiss = load_faiss()

        index = faiss.IndexHNSW(storage, self.m)
        hnsw, flat = index.hnsw, self.neighbours
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
        return int(self.levels.nbytes + self.neighbours.nbytes + 8 * (len(self.levels) + 1))

    def write(self, writer: ArtifactWriter) -> None:
        """Store the graph among an artefact's files."""
        writer.parameters(M=self.m, ef_construction=self.ef_construction, entry=self.entry)
        writer.array("levels", self.levels)
        writer.array("neighbours", self.neighbours)

    @classmethod
    def read(cls, reader: ArtifactReader) -> Self:
        """Read what `write` stored."""
        m, ef, entry = (reader.parameter(name, int) for name in ("M", "ef_construction", "entry"))
        return cls(m, ef, reader.array("levels", np.int32), reader.array("neighbours", np.int32), entry)

    def _offsets(self) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(self._places[self.levels])]).astype(np.int64)

    def _check(self) -> None:
        count, levels, flat = len(self.levels), self.levels, self.neighbours
        if count and not 1 <= levels.min() <= levels.max() < len(self._places):
            raise InputError(f"`levels` must be between 1 and {len(self._places) - 1}. Got others.")
        if len(flat) != self._offsets()[-1]:
            raise InputError(f"`neighbours` must have {self._offsets()[-1]} places. Got {len(flat)}.")
        if len(flat) and not -1 <= flat.min() <= flat.max() < count:
            raise InputError(f"`neighbours` must be items below {count}, or -1. Got others.")
        wanted = -1 <= self.entry < count and (self.entry >= 0) == (count > 0)
        if not wanted or (count and levels[self.entry] != levels.max()):
            raise InputError(f"`entry` must be an item on the highest level. Got {self.entry}.")
        self._check_upper()

    def _check_upper(self) -> None:
        """On an upper level, only items of that level may be neighbours: others have no places there to read."""
        offsets = self._offsets()
        for level in range(1, int(self.levels.max(initial=0))):
            owners = np.flatnonzero(self.levels > level)
            width = int(self._places[level + 1] - self._places[level])
            begins = offsets[owners] + int(self._places[level])
            named = self.neighbours[begins[:, None] + np.arange(width)]
            if (self.levels[named[named >= 0]] <= level).any():
                raise InputError(f"`neighbours` on level {level} must be on that level. Got others.")


def _places(m: int) -> NDArray[np.int64]:
    """Return how many places an item on 0, 1, 2, … levels has, as far as Faiss makes levels."""
    faiss = load_faiss()

    hnsw = faiss.HNSW(m)
    places: NDArray[np.int64] = faiss.vector_to_array(hnsw.cum_nneighbor_per_level).astype(np.int64)
    return places
