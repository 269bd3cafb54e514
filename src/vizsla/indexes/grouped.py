"""GroupedIndex: many vectors an item; an item's score is that of its best vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.base.index import Index
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.data.filter import Filter
from vizsla.errors import FormatError, InputError, check_positive
from vizsla.indexes.dense_index import DenseIndex
from vizsla.typing import BoolArray, Float32Array, Int32Array, Int64Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.base.encoder import Rows
    from vizsla.core.sparse import Matrix


class GroupedIndex(Index):
    """Several vectors per item. Exact if the index over the vectors is: many vectors of one item displace no other.

    Parameters
    ----------
    index : DenseIndex
        All vectors.
    owners : int32 array
        The item of each vector; every item from 0 on owns at least one.

    Examples
    --------
    >>> from vizsla.indexes.flat import FlatIndex
    >>> index = GroupedIndex(FlatIndex.build([[1.0, 0.0], [0.0, 1.0], [0.0, 3.0]]), np.array([0, 1, 0], np.int32))
    >>> found = index.search(np.array([[0.0, 1.0]], np.float32), k=2)
    >>> found.items.tolist(), found.scores.tolist()
    ([0, 1], [3.0, 1.0])
    """

    kind = "grouped"

    def __init__(self, index: DenseIndex, owners: Int32Array):
        self.index, self.owners, self.exact = index, owners, index.exact
        if len(owners) != len(index) or (len(owners) and not 0 <= owners.min() <= owners.max() < len(owners)):
            raise InputError(f"`owners` must name an item for each of {len(index)} vectors. Got others.")
        counts = np.bincount(owners)
        if (counts == 0).any():
            raise InputError("Every item must own a vector. Got one that has none.")
        self._members = np.argsort(owners, kind="stable").astype(np.int32)
        self._starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def __len__(self) -> int:
        return len(self._starts) - 1

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return self.index.dim

    @property
    def nbytes(self) -> int:
        """Bytes of vectors, owners and members."""
        return int(self.index.nbytes + self.owners.nbytes + self._members.nbytes + self._starts.nbytes)

    @property
    def effort(self) -> int | None:
        """The effort of the index over the vectors."""
        return self.index.effort

    def with_effort(self, effort: int) -> Self:
        """Return the same index over vectors that are searched as hard as this."""
        return type(self)(self.index.with_effort(effort), self.owners)

    def search(
        self, queries: Rows | Matrix, k: int, *, filter: Filter | BoolArray | None = None, threads: int = 1
    ) -> Candidates:
        """Return the best `k` items of every row: more vectors are fetched until `k` items are certain."""
        wanted = min(check_positive("k", k), max(1, len(self)))
        prepared = self._prepared(filter)
        inner = None if prepared is None else prepared.form(self, lambda given: given.translated(self.owners))
        rows = self.index._query_rows(queries)
        parts: list[tuple[Int32Array, Float32Array]] = [(np.zeros(0, np.int32), np.zeros(0, np.float32))] * len(rows)
        open_rows, depth = np.arange(len(rows)), 2 * wanted
        stats = Stats(exact=True)
        while len(open_rows):
            found = self.index.search(rows[open_rows], depth, filter=inner, threads=threads)
            stats = stats + found.stats
            left = []
            for at, row in enumerate(open_rows.tolist()):
                answer = self._best(*found.row(at), wanted, depth)
                if answer is None:
                    left.append(row)
                else:
                    parts[row] = answer
            open_rows, depth = np.array(left, np.int64), 2 * depth
        return _joined(parts, stats)

    def _best(
        self, vectors: Int32Array, scores: Float32Array | None, k: int, depth: int
    ) -> tuple[Int32Array, Float32Array] | None:
        """Return the best `k` items among the vectors found, or None when one that was not found could matter."""
        if scores is None:
            raise InputError("The index over the vectors must give scores. Got none.")
        owners = self.owners[vectors]
        items, firsts = np.unique(owners, return_index=True)  # vectors are best first, so the first is the best
        best = scores[firsts]
        order = np.lexsort((items, -best))[:k]
        complete = len(vectors) < depth or depth >= len(self.index)
        # A tie with the last vector found might continue beyond it, with a smaller item number.
        if not complete and (len(order) < k or best[order[-1]] <= scores[-1]):
            return None
        return items[order].astype(np.int32), best[order]

    def scores(self, queries: Rows | Matrix, candidates: Candidates, *, threads: int = 1) -> PairScores:
        """Score the given items by their best vectors, in their order."""
        rows, items = self.index._query_rows(queries), candidates.items
        self._check_candidates(len(rows), candidates)
        counts = (self._starts[1:] - self._starts[:-1])[items]
        ends = np.cumsum(counts)
        within = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - counts, counts)
        vectors = self._members[np.repeat(self._starts[items], counts) + within]
        numbers = np.repeat(candidates.row_numbers(), counts)
        scores = self.index._pairs(rows, numbers, vectors)
        best = np.maximum.reduceat(scores, ends - counts) if len(items) else scores
        return PairScores(best, Stats(scored=len(items), bytes=self.index._cost(len(vectors)).bytes))

    def vectors_of(self, item: int) -> NDArray[np.int32]:
        """Return the numbers of an item's vectors."""
        return self._members[self._starts[item] : self._starts[item + 1]]

    def __repr__(self) -> str:
        return f"GroupedIndex({len(self):,} items, {self.index!r})"

    def _write(self, writer: ArtifactWriter) -> None:
        writer.array("owners", self.owners)
        writer.child("vectors", self.index)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        index = reader.child("vectors", DenseIndex)
        try:
            return cls(index, reader.array("owners", np.int32))
        except InputError as error:
            raise FormatError(f"{reader.path / 'owners.npy'}: {error}") from error


def _joined(parts: list[tuple[Int32Array, Float32Array]], stats: Stats) -> Candidates:
    offsets: Int64Array = np.cumsum([0, *(len(items) for items, _ in parts)], dtype=np.int64)
    items = np.concatenate([np.zeros(0, np.int32), *(items for items, _ in parts)])
    scores = np.concatenate([np.zeros(0, np.float32), *(scores for _, scores in parts)])
    return Candidates.unchecked(offsets, items, scores, None, stats)
